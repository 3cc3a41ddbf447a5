package deploy

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

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
)

// reconcile brings what is made for a Gateway up to date. An error is the world's and is tried again soon; again says
// when to look without one, 0 for when something changes.
func (d *Deployer) reconcile(ctx context.Context, ref model.ObjectRef) (again time.Duration, err error) {
	p, found := d.planned(ref)
	switch {
	case !found:
		return d.leftover(ctx, ref)
	case p.Leaving:
		return 0, d.remove(ctx, ref, p)
	}
	held := p.Held
	if p, found = d.runnable(ref, p); !found {
		d.show(ref, p, frontOf(p, d.serviceOf(ref, p)), rollout(d.deploymentOf(ref, p)))
		return 0, nil
	}
	bundle, _ := d.cfg.Bundle()
	if len(bundle) == 0 {
		return 0, nil // nobody could be trusted; the bundle tells when it is there
	}
	if !held { // so that it can't go before what is made for it
		switch err := d.setFinalizer(ctx, gateways, ref, uid(p), model.Finalizer, true); {
		case errors.Is(err, errBehind):
			return lastRetry, nil
		case err != nil:
			return 0, fmt.Errorf("finalizer of the Gateway: %w", err)
		}
	}
	o := outcome{}
	if !held {
		o.lookAfter(lastRetry) // taken away before the plan saw it, it would never be missed
	}
	if o.foreign, err = d.foreigner(ctx, ref, p); err != nil {
		return 0, err
	}
	if o.foreign != "" {
		o.lookAfter(lastRetry)
		d.tell(ref, p, o)
		return o.again, nil
	}
	want, p, err := d.settle(ctx, ref, p, bundle, &o)
	if err != nil {
		return 0, err
	}
	for k := range kindsEnd {
		d.bring(ctx, ref, p, k, want, &o)
	}
	d.tell(ref, p, o)
	return o.again, errors.Join(o.failed...)
}

// runnable is what to run for a Gateway that the plan has. For one that is not accepted it is what was accepted last.
// If nobody remembers that, Deployment and Service stay as they are, but the proxies that there are go on to learn whom
// to trust; found is false if there are none.
func (d *Deployer) runnable(ref model.ObjectRef, p plan.Proxy) (run plan.Proxy, found bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.record(ref)
	r.removed = false
	if p.Accepted {
		r.accepted = &p
	}
	if r.accepted != nil {
		return *r.accepted, true
	}
	return p, d.find(deployment, ref.Namespace(), p.Name) != nil
}

// outcome is what came of bringing objects up to date.
type outcome struct {
	changed []string // kinds that are other than before
	wrong   []string // what the user has to mend
	denied  []string // what the cluster does not allow
	foreign string   // what is in the way; "" if nothing is
	failed  []error
	again   time.Duration
}

func (o *outcome) lookAfter(d time.Duration) {
	if o.again == 0 || d < o.again {
		o.again = d
	}
}

// mistake adds what the user has to mend, and when to look whether that was done.
func (o *outcome) mistake(why string, again time.Duration) {
	o.wrong = append(o.wrong, why)
	o.lookAfter(again)
}

// bring brings one object up to date.
func (d *Deployer) bring(ctx context.Context, ref model.ObjectRef, p plan.Proxy, k kind, want objects, o *outcome) {
	if _, wanted := want.texts[k]; !wanted { // it stays as it is
		return
	}
	if err := d.apply(ctx, ref, p, k, want, o); err != nil {
		o.failure(err, fmt.Sprintf("%s %s/%s", k, ref.Namespace(), p.Name))
	}
}

// failure notes that an object could not be made as it should be.
func (o *outcome) failure(err error, object string) {
	switch {
	// the namespace goes, and all that is in it
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), apierrors.IsNotFound(err):
		o.lookAfter(lastRetry)
	case denied(err):
		o.denied = append(o.denied, err.Error())
		o.failed = append(o.failed, err)
	default:
		o.failed = append(o.failed, fmt.Errorf("%s: %w", object, err))
	}
}

// denied tells whether the cluster does not allow what the user wants: a quota, a webhook. What an API server says of
// Cardea's own rights, also while it starts, is the operator's matter.
func denied(err error) bool {
	return apierrors.IsForbidden(err) && !strings.Contains(err.Error(), ` is forbidden: User "`)
}

// tell says how the Gateway's data plane is: in its front, in events and in the log.
func (d *Deployer) tell(ref model.ObjectRef, p plan.Proxy, o outcome) {
	f := frontOf(p, d.serviceOf(ref, p))
	switch {
	case o.foreign != "":
		f.Reason, f.Message = "NoResources", o.foreign
	case len(o.wrong) > 0:
		f.Reason, f.Message = "InvalidParameters", strings.Join(o.wrong, "; ")
	case len(o.denied) > 0:
		f.Reason, f.Message = "NoResources", strings.Join(o.denied, "; ")
	}
	d.show(ref, p, f, append(rollout(d.deploymentOf(ref, p)), vain(ref, p)...))
	if len(o.changed) > 0 {
		kinds := strings.Join(o.changed, ", ")
		d.cfg.Log.Info("deployed", "gateway", ref.String(), "name", p.Name, "changed", kinds)
		d.cfg.Events(Event{Object: ref, UID: p.UID, Reason: "Deployed", Message: fmt.Sprintf("applied %s %s", kinds, p.Name)})
	}
}

// show makes a front the one that counts, and notes with it. What is new among these is told.
func (d *Deployer) show(ref model.ObjectRef, p plan.Proxy, f model.Front, notes []note) {
	var words []string
	for _, n := range notes {
		words = append(words, n.text)
	}
	f.Note = strings.Join(words, "; ")
	d.mu.Lock()
	r := d.record(ref)
	before, told := r.front, r.notes
	r.front, r.notes = &f, notes
	d.mu.Unlock()
	for _, n := range notes {
		if !slices.Contains(told, n) {
			d.cfg.Log.Warn("something is wrong with a data plane", "object", ref.String(), "reason", n.reason, "problem", n.text)
			d.cfg.Events(Event{Object: ref, UID: p.UID, Warning: true, Reason: n.reason, Message: n.text})
		}
	}
	if before == nil || !reflect.DeepEqual(*before, f) {
		d.cfg.Graph.Apply("front", func(b *flow.Batch) { d.cfg.Fronts.Set(b, ref, f) })
	}
}

// deploymentOf is a Gateway's Deployment, or nil.
func (d *Deployer) deploymentOf(ref model.ObjectRef, p plan.Proxy) *appsv1.Deployment {
	object, _ := d.find(deployment, ref.Namespace(), p.Name).(*appsv1.Deployment)
	return object
}

// serviceOf is a Gateway's Service, or nil.
func (d *Deployer) serviceOf(ref model.ObjectRef, p plan.Proxy) *corev1.Service {
	s, _ := d.find(service, ref.Namespace(), p.Name).(*corev1.Service)
	return s
}
