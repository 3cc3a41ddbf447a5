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
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// finder is how the Services are made that find the pods of a kind of backend.
type finder struct {
	kind    model.Kind
	version string // of the kind's API, without the group
	label   string // the label of EndpointSlices that names the backend
	app     string // value of nameLabel in the Services
	prefix  string // of their names
}

var finders = []finder{
	{model.KindXBackend, xgatewayv1alpha1.GroupVersion.Version, model.XBackendLabel, xbackendApp, "xbackend-"},
	{model.KindInferencePool, "v1", model.InferencePoolLabel, poolApp, "pool-"},
}

// finderOf is that of a kind; false: no pods are found for objects of the kind.
func finderOf(k model.Kind) (finder, bool) {
	i := slices.IndexFunc(finders, func(f finder) bool { return f.kind == k })
	if i < 0 {
		return finder{}, false
	}
	return finders[i], true
}

// mustFind returns the finder of a kind that has one.
func mustFind(k model.Kind) finder {
	s, found := finderOf(k)
	if !found {
		panic(fmt.Sprintf("deploy: no pods are found for objects of kind %s", k)) // the queue has none
	}
	return s
}

func (f finder) apiVersion() string { return f.kind.Group() + "/" + f.version }

// reconcileSelection keeps one Service that finds the pods of an XBackend or an InferencePool. The Service is
// headless, and nobody sends requests to it: it exists for its EndpointSlices, which have its labels. The API server
// generates its name, so that nobody relies on the name (EndpointSelectorBackend).
func (d *Deployer) reconcileSelection(ctx context.Context, ref model.ObjectRef) (again time.Duration, err error) {
	s, found := d.selection(ref)
	if !found {
		return 0, d.removeSelection(ctx, ref)
	}
	made, err := d.selecting(ctx, ref)
	made = slices.DeleteFunc(made, func(o metav1.Object) bool { return !belongs(o, s.UID) }) // deleted with its own owner
	if err != nil || len(made) == 0 && s.Leaving {
		return 0, err
	}
	nameless, err := json.Marshal(selectorService(ref, s, ""))
	if err != nil {
		return 0, err
	}
	want := objects{texts: map[kind][]byte{}, digests: map[kind]digest{service: sha256.Sum256(nameless)}}
	o := outcome{}
	name := ""
	if len(made) > 0 {
		name = made[0].GetName()
	} else if name, err = d.begin(ctx, ref, s, want, &o); err != nil {
		o.failure(err, "Service for "+ref.String())
	}
	if name != "" {
		d.remembers(ref, name)
		known := selectorService(ref, s, name)
		if len(made) > 0 {
			known.WithUID(made[0].GetUID()) // the watch may not know yet that it is gone: its name does not come back
		}
		if want.texts[service], err = json.Marshal(known); err != nil {
			return 0, err
		}
		d.update(ctx, ref, plan.Proxy{UID: s.UID, Name: name}, service, want, &o)
	}
	for _, extra := range made[min(1, len(made)):] {
		if err := d.delete(ctx, ref, service, extra.GetName(), extra.GetUID()); err != nil {
			o.failed = append(o.failed, fmt.Errorf("delete Service %s: %w", extra.GetName(), err))
		}
	}
	d.reportSelection(ref, s, name, o)
	return o.again, errors.Join(o.failed...)
}

// selection is the plan for a backend. A backend with another UID is another object, and nothing is known about it.
func (d *Deployer) selection(ref model.ObjectRef) (plan.Selection, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, found := d.selections[ref]
	if found {
		d.recordOf(ref, s.UID)
	}
	return s, found
}

// selecting lists the Services that Cardea created for a backend of that name, the oldest first, without those that
// are being deleted. The watch may not have the newest one yet, or have lost it because another client removed its
// labels or its owner: so its name is remembered.
func (d *Deployer) selecting(ctx context.Context, ref model.ObjectRef) (list []metav1.Object, err error) {
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
	name := d.record(ref).service
	d.mu.Unlock()
	if name != "" && !slices.ContainsFunc(list, func(o metav1.Object) bool { return o.GetName() == name }) {
		switch o, err := d.core.Services(ref.Namespace()).Get(ctx, name, metav1.GetOptions{}); {
		case err == nil:
			list = append(list, o)
		case !apierrors.IsNotFound(err):
			return nil, err
		}
	}
	list = slices.DeleteFunc(list, func(o metav1.Object) bool { return o.GetDeletionTimestamp() != nil || !wrote(o) })
	slices.SortFunc(list, func(a, b metav1.Object) int {
		return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time),
			strings.Compare(a.GetName(), b.GetName()))
	})
	return list, nil
}

// belongs reports whether an object is owned by the backend with that UID, or by nobody (its owner was removed).
func belongs(o metav1.Object, uid string) bool {
	owner := metav1.GetControllerOf(o)
	return owner == nil || owner.UID == types.UID(uid)
}

// remembers records the name of the Service of a backend.
func (d *Deployer) remembers(ref model.ObjectRef, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.record(ref)
	delete(d.named, types.NamespacedName{Namespace: ref.Namespace(), Name: r.service})
	d.named[types.NamespacedName{Namespace: ref.Namespace(), Name: name}] = ref
	r.service = name
}

// begin creates the Service, still without a port; the port is applied after that. The name is "" if creation has to
// wait because another client deletes the Service again and again.
func (d *Deployer) begin(
	ctx context.Context, ref model.ObjectRef, s plan.Selection, want objects, o *outcome,
) (name string, err error) {
	now := time.Now()
	d.mu.Lock()
	before := d.record(ref).objects[service]
	d.mu.Unlock()
	if wait := before.pause(now); wait > 0 {
		o.lookAfter(wait)
		return "", nil
	}
	if wait := before.refusal(want.digest(service), now); wait > 0 {
		o.mistake(before.why, wait)
		return "", nil
	}
	made, err := d.core.Services(ref.Namespace()).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: selectorPrefix(ref), Labels: selectorLabels(ref),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: mustFind(ref.Kind()).apiVersion(), Kind: ref.Kind().String(), Name: ref.Name(),
				UID: types.UID(s.UID), Controller: new(true),
			}},
		},
		// without a selector it would have both IP families
		Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: s.Labels},
	}, metav1.CreateOptions{FieldManager: manager})
	if err != nil {
		d.metrics.applies.WithLabelValues(service.String(), "failed").Inc()
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			d.refuse(ref, plan.Proxy{}, service, want.digest(service), err, now, o)
			return "", nil
		}
		return "", err
	}
	return made.Name, nil
}

// selectorPrefix is the prefix of the Service's name: valid in the name of a Service, and short enough for the API
// server to append five characters.
func selectorPrefix(ref model.ObjectRef) string {
	const most = 57 // and a dash and five characters
	name := mustFind(ref.Kind()).prefix + strings.ReplaceAll(ref.Name(), ".", "-")
	return strings.TrimRight(name[:min(len(name), most)], "-") + "-"
}

// selectorService renders the Service of that name.
func selectorService(ref model.ObjectRef, s plan.Selection, name string) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(name, ref.Namespace()).
		WithLabels(selectorLabels(ref)).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion(mustFind(ref.Kind()).apiVersion()).WithKind(ref.Kind().String()).
			WithName(ref.Name()).WithUID(types.UID(s.UID)).WithController(true)).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceTypeClusterIP).WithClusterIP(corev1.ClusterIPNone).
			WithSelector(s.Labels).WithPublishNotReadyAddresses(false).
			WithPorts(corev1ac.ServicePort().WithProtocol(corev1.ProtocolTCP).WithPort(s.Port).WithTargetPort(
				intstr.FromInt32(s.Port),
			)))
}

func selectorLabels(ref model.ObjectRef) map[string]string {
	of := mustFind(ref.Kind())
	return map[string]string{nameLabel: of.app, managedByLabel: manager, of.label: model.LabelValue(ref.Name())}
}

// reportSelection writes the state of a backend's Service to its front, to Events and to the log.
func (d *Deployer) reportSelection(ref model.ObjectRef, s plan.Selection, name string, o outcome) {
	f := model.Front{}
	if trouble := slices.Concat(o.wrong, o.denied); len(trouble) > 0 {
		f.Reason, f.Message = "NoResources", "the Service that finds its pods can't be created: "+strings.Join(trouble, "; ")
	}
	d.show(ref, plan.Proxy{UID: s.UID}, f, nil)
	if len(o.changed) > 0 {
		d.cfg.Log.Info("deployed", "object", ref.String(), "name", name, "changed", service.String())
		d.cfg.Events(Event{Object: ref, UID: s.UID, Reason: "Deployed", Message: fmt.Sprintf("applied Service %s", name)})
	}
}

// removeSelection deletes the Services of a backend to which no route refers any more.
func (d *Deployer) removeSelection(ctx context.Context, ref model.ObjectRef) error {
	list, err := d.selecting(ctx, ref)
	if err != nil {
		return err
	}
	for _, made := range list {
		if err := d.delete(ctx, ref, service, made.GetName(), made.GetUID()); err != nil {
			return fmt.Errorf("delete Service %s: %w", made.GetName(), err)
		}
		d.cfg.Log.Info("removed", "object", ref.String(), "name", made.GetName())
	}
	d.forget(ref)
	return nil
}

// wrote reports whether Cardea created or applied an object.
func wrote(o metav1.Object) bool {
	return slices.ContainsFunc(o.GetManagedFields(),
		func(f metav1.ManagedFieldsEntry) bool { return f.Manager == manager })
}

// byBackend indexes the Services that find pods by the backends that the pods belong to.
const byBackend = "backend"

func backendIndex(ref model.ObjectRef) string {
	return ref.Kind().String() + " " + ref.Namespace() + "/" + ref.Name()
}

func indexBackend(o any) ([]string, error) {
	object, ok := o.(metav1.Object)
	if !ok {
		return nil, nil
	}
	ref, found := backendOf(object)
	if !found {
		return nil, nil
	}
	return []string{backendIndex(ref)}, nil
}

// backendOf is the XBackend or InferencePool that an object belongs to; false if it belongs to none.
func backendOf(o metav1.Object) (model.ObjectRef, bool) {
	if owner := metav1.GetControllerOf(o); owner != nil {
		group, _, _ := strings.Cut(owner.APIVersion, "/")
		if k := model.KindOf(group, owner.Kind); k != model.KindNone {
			if _, found := finderOf(k); found {
				return model.Ref(k, o.GetNamespace(), owner.Name), true
			}
		}
	}
	return model.ObjectRef{}, false
}
