package proxies

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// removal is the order in which objects are deleted: first what clients use, last what proxies need.
var removal = []kind{service, deployment, serviceAccount, configMap, fileMap, fileSecret, networkPolicy}

// remove deletes the objects of a Gateway, then removes its finalizer. It does not wait for pods: they drain
// themselves.
func (d *Deployer) remove(ctx context.Context, ref model.ObjectRef, p plan.Proxy) error {
	if d.removed(ref) {
		return nil
	}
	for _, k := range removal {
		object, err := d.lookup(ctx, k, ref.Namespace(), k.of(p))
		if err == nil && object != nil && ours(object, p) {
			err = d.delete(ctx, ref, k, k.of(p), object.GetUID())
		}
		if k == fileSecret && apierrors.IsForbidden(err) {
			continue // if there is one, it is deleted with the Gateway that owns it
		}
		if err != nil {
			return fmt.Errorf("delete %s %s: %w", k, k.of(p), err)
		}
	}
	if err := d.setFinalizer(ctx, gateways, ref, uid(p), model.Finalizer, false); err != nil {
		return fmt.Errorf("finalizer of the Gateway: %w", err)
	}
	d.mu.Lock()
	d.record(ref).removed = true
	d.mu.Unlock()
	d.show(ref, p, model.Front{}, nil)
	d.cfg.Log.Info("removed", "gateway", ref.String(), "name", p.Name)
	return nil
}

// removed reports whether all objects of a Gateway were deleted.
func (d *Deployer) removed(ref model.ObjectRef) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.records[ref]
	return r != nil && r.removed
}

// removeUnplanned handles a Gateway that is not in the plan: it is deleted, or not ours any more. Its objects are
// deleted.
func (d *Deployer) removeUnplanned(ctx context.Context, ref model.ObjectRef) (again time.Duration, err error) {
	if d.removed(ref) {
		d.forget(ref)
		return 0, nil
	}
	object, err := d.objects.Resource(gateways).Namespace(ref.Namespace()).Get(ctx, ref.Name(), metav1.GetOptions{})
	switch {
	case err == nil && slices.Contains(object.Finalizers, model.Finalizer):
		return 0, nil // the plan will have it
	// the kind itself is gone: nothing is known
	case apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return lookAgain, nil
	case err != nil && !apierrors.IsNotFound(err):
		return 0, err
	}
	for _, own := range d.ownOf(ref) {
		if err := d.delete(ctx, ref, own.kind, own.GetName(), own.GetUID()); err != nil {
			return 0, fmt.Errorf("delete %s %s: %w", own.kind, own.GetName(), err)
		}
	}
	d.forget(ref)
	return 0, nil
}

// own is an object that this package applied.
type own struct {
	kind kind
	metav1.Object
}

// ownOf lists the objects that belong to a Gateway by their metadata, in the order of deletion.
func (d *Deployer) ownOf(ref model.ObjectRef) (list []own) {
	for _, k := range removal {
		for _, o := range d.informers[k].GetStore().List() {
			object, ok := o.(metav1.Object)
			if !ok {
				continue
			}
			if of, _ := gatewayOf(object); of == ref && applied(object) {
				list = append(list, own{k, object})
			}
		}
	}
	return list
}

// delete deletes the object with that UID. It is no error if there is none.
func (d *Deployer) delete(ctx context.Context, ref model.ObjectRef, k kind, name string, uid types.UID) error {
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &uid}}
	err := d.objects.Resource(k.resource()).Namespace(ref.Namespace()).Delete(ctx, name, options)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return err
	}
	d.mu.Lock()
	if r := d.records[ref]; r != nil {
		r.objects[k] = made{}
	}
	d.mu.Unlock()
	return nil
}

// forget drops the record and the front of a Gateway or an XBackend.
func (d *Deployer) forget(ref model.ObjectRef) {
	d.cfg.Graph.Apply("front", func(b *flow.Batch) { d.cfg.Fronts.Delete(b, ref) })
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.records[ref]; r != nil && r.service != "" {
		delete(d.named, types.NamespacedName{Namespace: ref.Namespace(), Name: r.service})
	}
	delete(d.records, ref)
}
