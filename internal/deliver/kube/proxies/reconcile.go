package proxies

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// reconcileGateway brings the objects of a Gateway up to date. An error is the cluster's and is retried soon. Without
// an error, again is when to look again; 0 means when something changes.
func (d *Deployer) reconcileGateway(ctx context.Context, ref model.ObjectRef) (again time.Duration, err error) {
	p, found := d.findProxy(ref)
	switch {
	case !found:
		return d.removeUnplanned(ctx, ref)
	case p.Deleting:
		return 0, d.removeGateway(ctx, ref, p)
	}
	held := p.HasFinalizer
	if p, found = d.proxyToRun(ref, p); !found {
		d.setFront(ref, p, frontOf(p, d.serviceOf(ref, p)), rolloutNotes(d.deploymentOf(ref, p)))
		return 0, nil
	}
	bundle, _ := d.cfg.Bundle()
	if len(bundle) == 0 {
		return 0, nil // without certificates no proxy can trust the server; the bundle reports when they are there
	}
	if !held { // so that the Gateway can't be deleted before its objects
		switch err := d.setFinalizer(ctx, gateways, ref, proxyUID(p), model.Finalizer, true); {
		case errors.Is(err, errBehind):
			return recheckInterval, nil
		case err != nil:
			return 0, fmt.Errorf("finalizer of the Gateway: %w", err)
		}
	}
	o := outcome{}
	if !held {
		o.recheckIn(recheckInterval) // if it is deleted before the plan knows it, nothing else would report that
	}
	if o.conflict, err = d.nameConflict(ctx, ref, p); err != nil {
		return 0, err
	}
	if o.conflict != "" {
		o.recheckIn(recheckInterval)
		d.reportGateway(ref, p, o)
		return o.recheckAfter, nil
	}
	want, p, err := d.renderValid(ctx, ref, p, bundle, &o)
	if err != nil {
		return 0, err
	}
	for k := range kindsEnd {
		d.updateObject(ctx, ref, p, k, want, &o)
	}
	d.keepFiles(ctx, ref, p, want, &o)
	d.reportGateway(ref, p, o)
	return o.recheckAfter, errors.Join(o.failed...)
}

// proxyToRun is what to run for a Gateway of the plan. For a Gateway that is not accepted, it is what was accepted
// last. If that is not known, Deployment, Service and the files that pods start with stay as they are, and only the CA
// certificates of existing proxies are kept up to date, whatever their data plane is; found is false if there are no
// proxies.
func (d *Deployer) proxyToRun(ref model.ObjectRef, p plan.ProxySpec) (run plan.ProxySpec, found bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.ensureRecord(ref)
	r.removed = false
	if p.Accepted {
		r.accepted = &p
	}
	if r.accepted != nil {
		return *r.accepted, true
	}
	p.DataPlane = d.runningDataPlane(ref, p)
	return p, d.findObject(deployment, ref.Namespace(), p.Name) != nil
}

// outcome is the result of bringing objects up to date.
type outcome struct {
	changed      []string // kinds of the objects that differ from before
	mistakes     []string // mistakes that the user has to correct
	denied       []string // what the cluster does not allow
	conflict     string   // the object that is in the way; "" if there is none
	failed       []error
	recheckAfter time.Duration
}

func (o *outcome) recheckIn(d time.Duration) {
	if o.recheckAfter == 0 || d < o.recheckAfter {
		o.recheckAfter = d
	}
}

// addMistake adds a mistake of the user, and when to check whether it was corrected.
func (o *outcome) addMistake(why string, again time.Duration) {
	o.mistakes = append(o.mistakes, why)
	o.recheckIn(again)
}

// updateObject brings one object up to date.
func (d *Deployer) updateObject(
	ctx context.Context, ref model.ObjectRef, p plan.ProxySpec, k kind, want renderedObjects, o *outcome,
) {
	if _, wanted := want.texts[k]; !wanted { // it stays as it is
		return
	}
	if err := d.applyObject(ctx, ref, p, k, want, o); err != nil {
		o.addFailure(err, fmt.Sprintf("%s %s/%s", k, ref.Namespace(), p.Name))
	}
}

// addFailure records that an object could not be applied.
func (o *outcome) addFailure(err error, object string) {
	switch {
	// the namespace is being deleted, with everything in it
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), apierrors.IsNotFound(err):
		o.recheckIn(recheckInterval)
	case isDenied(err):
		o.denied = append(o.denied, err.Error())
		o.failed = append(o.failed, err)
	default:
		o.failed = append(o.failed, fmt.Errorf("%s: %w", object, err))
	}
}

// isDenied reports whether the cluster does not allow what the user wants: a quota, a webhook. A refusal because of
// Cardea's own permissions, also while the API server starts, is not the user's mistake.
func isDenied(err error) bool {
	return apierrors.IsForbidden(err) && !strings.Contains(err.Error(), ` is forbidden: User "`)
}

// reportGateway writes the state of the Gateway's data plane to its front, to Events and to the log.
func (d *Deployer) reportGateway(ref model.ObjectRef, p plan.ProxySpec, o outcome) {
	f := frontOf(p, d.serviceOf(ref, p))
	switch {
	case o.conflict != "":
		f.Reason, f.Message = "NoResources", o.conflict
	case len(o.mistakes) > 0:
		f.Reason, f.Message = "InvalidParameters", strings.Join(o.mistakes, "; ")
	case len(o.denied) > 0:
		f.Reason, f.Message = "NoResources", strings.Join(o.denied, "; ")
	}
	d.setFront(ref, p, f, append(rolloutNotes(d.deploymentOf(ref, p)), reservedNotes(ref, p)...))
	if len(o.changed) > 0 {
		kinds := strings.Join(o.changed, ", ")
		d.cfg.Log.Info("deployed", "gateway", ref.String(), "name", p.Name, "changed", kinds)
		d.cfg.Events(Event{Object: ref, UID: p.UID, Reason: "Deployed", Message: fmt.Sprintf("applied %s %s", kinds, p.Name)})
	}
}

// setFront replaces the front and its notes. New notes are logged, with an Event for each.
func (d *Deployer) setFront(ref model.ObjectRef, p plan.ProxySpec, f model.Front, notes []note) {
	var words []string
	for _, n := range notes {
		words = append(words, n.text)
	}
	f.Note = strings.Join(words, "; ")
	if is := d.deploymentOf(ref, p); is != nil {
		f.Proxies = is.Status.ReadyReplicas
	}
	d.mu.Lock()
	r := d.ensureRecord(ref)
	before, reported := r.front, r.notes
	r.front, r.notes = &f, notes
	d.mu.Unlock()
	for _, n := range notes {
		if !slices.Contains(reported, n) {
			d.cfg.Log.Warn("a data plane has a problem", "object", ref.String(), "reason", n.reason, "problem", n.text)
			d.cfg.Events(Event{Object: ref, UID: p.UID, Warning: true, Reason: n.reason, Message: n.text})
		}
	}
	if before == nil || !reflect.DeepEqual(*before, f) {
		d.cfg.Graph.Apply("front", func(b *flow.Batch) { d.cfg.Fronts.Set(b, ref, f) })
	}
}

// deploymentOf is a Gateway's Deployment, or nil.
func (d *Deployer) deploymentOf(ref model.ObjectRef, p plan.ProxySpec) *appsv1.Deployment {
	object, _ := d.findObject(deployment, ref.Namespace(), p.Name).(*appsv1.Deployment)
	return object
}

// serviceOf is a Gateway's Service, or nil.
func (d *Deployer) serviceOf(ref model.ObjectRef, p plan.ProxySpec) *corev1.Service {
	s, _ := d.findObject(service, ref.Namespace(), p.Name).(*corev1.Service)
	return s
}
