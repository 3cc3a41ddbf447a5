package proxies

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	declared "cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// podFinder is how the Services are made that find the pods of a kind of backend.
type podFinder struct {
	*declared.Finder
	kind *declared.Kind
}

// podFinders are those of the kinds whose pods Cardea finds.
type podFinders map[model.Kind]podFinder

func findersOf(backends []*declared.Kind) podFinders {
	all := podFinders{}
	for _, b := range backends {
		if b.Backend.Finder != nil {
			all[b.Kind] = podFinder{b.Backend.Finder, b}
		}
	}
	return all
}

// apps are the values of nameLabel in the Services.
func (all podFinders) apps() (list []string) {
	for _, f := range all {
		list = append(list, f.App)
	}
	slices.Sort(list)
	return list
}

// reconcileSelection keeps one Service that finds the pods of an XBackend or an InferencePool. The Service is
// headless, and nobody sends requests to it: it exists for its EndpointSlices, which have its labels. The API server
// generates its name, so that nobody relies on the name (EndpointSelectorBackend).
func (d *Deployer) reconcileSelection(ctx context.Context, ref model.ObjectRef) (again time.Duration, err error) {
	s, found := d.findSelector(ref)
	if !found {
		return 0, d.removeSelection(ctx, ref)
	}
	made, err := d.selectorServices(ctx, ref)
	// deleted with its own owner
	made = slices.DeleteFunc(made, func(o metav1.Object) bool { return !belongsTo(o, s.UID) })
	if err != nil || len(made) == 0 && s.Deleting {
		return 0, err
	}
	f := d.finders[ref.Kind()]
	nameless, err := json.Marshal(f.service(ref, s, ""))
	if err != nil {
		return 0, err
	}
	want := renderedObjects{texts: map[kind][]byte{}, digests: map[kind]digest{service: sha256.Sum256(nameless)}}
	o := outcome{}
	name := ""
	if len(made) > 0 {
		name = made[0].GetName()
	} else if name, err = d.createService(ctx, ref, s, want, &o); err != nil {
		o.addFailure(err, "Service for "+ref.String())
	}
	if name != "" {
		d.recordServiceName(ref, name)
		known := f.service(ref, s, name)
		if len(made) > 0 {
			// The watch may not know yet that it is gone: its name does not come back.
			known["metadata"].(fields)["uid"] = made[0].GetUID()
		}
		if want.texts[service], err = json.Marshal(known); err != nil {
			return 0, err
		}
		d.updateObject(ctx, ref, plan.ProxySpec{UID: s.UID, Name: name}, service, want, &o)
	}
	for _, extra := range made[min(1, len(made)):] {
		if err := d.deleteObject(ctx, ref, service, extra.GetName(), extra.GetUID()); err != nil {
			o.failed = append(o.failed, fmt.Errorf("delete Service %s: %w", extra.GetName(), err))
		}
	}
	d.reportSelection(ref, s, name, o)
	return o.recheckAfter, errors.Join(o.failed...)
}

// findSelector is the plan for a backend. A backend with another UID is another object, and nothing is known about it.
func (d *Deployer) findSelector(ref model.ObjectRef) (plan.PodSelector, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, found := d.selections[ref]
	if found {
		d.recordOf(ref, s.UID)
	}
	return s, found
}

// selectorServices lists the Services that Cardea created for a backend of that name, the oldest first, without those
// that are being deleted. The watch may not have the newest one yet, or have lost it because another client removed its
// labels or its owner: so its name is remembered.
func (d *Deployer) selectorServices(ctx context.Context, ref model.ObjectRef) (list []metav1.Object, err error) {
	all, err := d.informers[service].GetIndexer().ByIndex(byBackend, backendIndex(ref))
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		if object, ok := o.(metav1.Object); ok {
			list = append(list, object)
		}
	}
	d.mu.Lock()
	name := d.ensureRecord(ref).service
	d.mu.Unlock()
	if name != "" && !slices.ContainsFunc(list, func(o metav1.Object) bool { return o.GetName() == name }) {
		o := &corev1.Service{}
		switch err := d.get(ctx, service, ref.Namespace(), name, o); {
		case err == nil:
			list = append(list, o)
		case !apierrors.IsNotFound(err):
			return nil, err
		}
	}
	list = slices.DeleteFunc(list, func(o metav1.Object) bool { return o.GetDeletionTimestamp() != nil || !hasWritten(o) })
	slices.SortFunc(list, func(a, b metav1.Object) int {
		return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time),
			strings.Compare(a.GetName(), b.GetName()))
	})
	return list, nil
}

// belongsTo reports whether an object is owned by the backend with that UID, or by nobody (its owner was removed).
func belongsTo(o metav1.Object, uid string) bool {
	owner := metav1.GetControllerOf(o)
	return owner == nil || owner.UID == types.UID(uid)
}

// recordServiceName records the name of the Service of a backend.
func (d *Deployer) recordServiceName(ref model.ObjectRef, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.ensureRecord(ref)
	delete(d.ownersByName, types.NamespacedName{Namespace: ref.Namespace(), Name: r.service})
	d.ownersByName[types.NamespacedName{Namespace: ref.Namespace(), Name: name}] = ref
	r.service = name
}

// createService creates the Service, still without a port; the port is applied after that. The name is "" if creation
// has to wait because another client deletes the Service again and again.
func (d *Deployer) createService(
	ctx context.Context, ref model.ObjectRef, s plan.PodSelector, want renderedObjects, o *outcome,
) (name string, err error) {
	now := time.Now()
	d.mu.Lock()
	before := d.ensureRecord(ref).objects[service]
	d.mu.Unlock()
	if wait := before.repairDelay(now); wait > 0 {
		o.recheckIn(wait)
		return "", nil
	}
	if wait := before.refusalWait(want.digestOf(service), now); wait > 0 {
		o.addMistake(before.refusedWhy, wait)
		return "", nil
	}
	f := d.finders[ref.Kind()]
	made := &corev1.Service{}
	err = d.core.Post().Namespace(ref.Namespace()).Resource(service.groupVersionResource().Resource).Param("fieldManager",
		manager).Body(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: f.namePrefix(ref), Labels: f.labels(ref),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: f.kind.APIVersion(), Kind: ref.Kind().String(), Name: ref.Name(),
				UID: types.UID(s.UID), Controller: new(true),
			}},
		},
		// without a selector it would have both IP families
		Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: s.Labels},
	}).Do(ctx).Into(made)
	if err != nil {
		d.metrics.applies.WithLabelValues(service.String(), "failed").Inc()
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			d.recordInvalid(ref, plan.ProxySpec{}, service, want.digestOf(service), err, now, o)
			return "", nil
		}
		return "", err
	}
	return made.Name, nil
}

// namePrefix is the prefix of the Service's name: valid in the name of a Service, and short enough for the API
// server to append five characters.
func (f podFinder) namePrefix(ref model.ObjectRef) string {
	const most = 57 // and a dash and five characters
	name := f.Prefix + strings.ReplaceAll(ref.Name(), ".", "-")
	return strings.TrimRight(name[:min(len(name), most)], "-") + "-"
}

// service renders the Service of that name.
func (f podFinder) service(ref model.ObjectRef, s plan.PodSelector, name string) fields {
	o := object(service, name, ref.Namespace(), fields{"labels": f.labels(ref),
		"ownerReferences": []fields{ownerOf(ref, f.kind.APIVersion(), s.UID)}})
	o["spec"] = fields{
		"type": corev1.ServiceTypeClusterIP, "clusterIP": corev1.ClusterIPNone,
		"selector": s.Labels, "publishNotReadyAddresses": false,
		"ports": []fields{{"protocol": corev1.ProtocolTCP, "port": s.Port, "targetPort": s.Port}},
	}
	return o
}

func (f podFinder) labels(ref model.ObjectRef) map[string]string {
	return map[string]string{
		nameLabel: f.App, managedByLabel: manager, f.kind.Backend.SliceLabel: model.LabelValue(ref.Name()),
	}
}

// reportSelection writes the state of a backend's Service to its front, to Events and to the log.
func (d *Deployer) reportSelection(ref model.ObjectRef, s plan.PodSelector, name string, o outcome) {
	f := model.Front{}
	if trouble := slices.Concat(o.mistakes, o.denied); len(trouble) > 0 {
		f.Reason, f.Message = "NoResources", "the Service that finds its pods can't be created: "+strings.Join(trouble, "; ")
	}
	d.setFront(ref, plan.ProxySpec{UID: s.UID}, f, nil)
	if len(o.changed) > 0 {
		d.cfg.Log.Info("deployed", "object", ref.String(), "name", name, "changed", service.String())
		d.cfg.Events(Event{Object: ref, UID: s.UID, Reason: "Deployed", Message: fmt.Sprintf("applied Service %s", name)})
	}
}

// removeSelection deletes the Services of a backend to which no route refers any more.
func (d *Deployer) removeSelection(ctx context.Context, ref model.ObjectRef) error {
	list, err := d.selectorServices(ctx, ref)
	if err != nil {
		return err
	}
	for _, made := range list {
		if err := d.deleteObject(ctx, ref, service, made.GetName(), made.GetUID()); err != nil {
			return fmt.Errorf("delete Service %s: %w", made.GetName(), err)
		}
		d.cfg.Log.Info("removed", "object", ref.String(), "name", made.GetName())
	}
	d.forgetRecord(ref)
	return nil
}

// hasWritten reports whether Cardea created or applied an object.
func hasWritten(o metav1.Object) bool {
	return slices.ContainsFunc(o.GetManagedFields(),
		func(f metav1.ManagedFieldsEntry) bool { return f.Manager == manager })
}

// byBackend indexes the Services that find pods by the backends that the pods belong to.
const byBackend = "backend"

func backendIndex(ref model.ObjectRef) string {
	return ref.Kind().String() + " " + ref.Namespace() + "/" + ref.Name()
}

func (all podFinders) index(o any) ([]string, error) {
	object, ok := o.(metav1.Object)
	if !ok {
		return nil, nil
	}
	ref, found := all.backendOf(object)
	if !found {
		return nil, nil
	}
	return []string{backendIndex(ref)}, nil
}

// backendOf is the backend that an object belongs to; false if it belongs to none.
func (all podFinders) backendOf(o metav1.Object) (model.ObjectRef, bool) {
	if owner := metav1.GetControllerOf(o); owner != nil {
		group, _, _ := strings.Cut(owner.APIVersion, "/")
		if k := model.KindOf(group, owner.Kind); k != model.KindNone {
			if _, found := all[k]; found {
				return model.Ref(k, o.GetNamespace(), owner.Name), true
			}
		}
	}
	return model.ObjectRef{}, false
}
