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

// deletionOrder is the order in which objects are deleted: first what clients use, last what proxies need.
var deletionOrder = []kind{service, deployment, serviceAccount, configMap, fileMap, fileSecret, networkPolicy}

// removeGateway deletes the objects of a Gateway, then removes its finalizer. It does not wait for pods: they drain
// themselves.
func (d *Deployer) removeGateway(ctx context.Context, ref model.ObjectRef, p plan.ProxySpec) error {
	if d.isRemoved(ref) {
		return nil
	}
	for _, k := range deletionOrder {
		object, err := d.lookupObject(ctx, k, ref.Namespace(), k.objectName(p))
		if err == nil && object != nil && isOurs(object, p) {
			err = d.deleteObject(ctx, ref, k, k.objectName(p), object.GetUID())
		}
		if k == fileSecret && apierrors.IsForbidden(err) {
			continue // if there is one, it is deleted with the Gateway that owns it
		}
		if err != nil {
			return fmt.Errorf("delete %s %s: %w", k, k.objectName(p), err)
		}
	}
	if err := d.setFinalizer(ctx, gateways, ref, proxyUID(p), model.Finalizer, false); err != nil {
		return fmt.Errorf("finalizer of the Gateway: %w", err)
	}
	d.mu.Lock()
	d.ensureRecord(ref).removed = true
	d.mu.Unlock()
	d.setFront(ref, p, model.Front{}, nil)
	d.cfg.Log.Info("removed", "gateway", ref.String(), "name", p.Name)
	return nil
}

// isRemoved reports whether all objects of a Gateway were deleted.
func (d *Deployer) isRemoved(ref model.ObjectRef) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.records[ref]
	return r != nil && r.removed
}

// removeUnplanned handles a Gateway that is not in the plan: it is deleted, or not ours any more. Its objects are
// deleted.
func (d *Deployer) removeUnplanned(ctx context.Context, ref model.ObjectRef) (again time.Duration, err error) {
	if d.isRemoved(ref) {
		d.forgetRecord(ref)
		return 0, nil
	}
	object, err := d.objects.Resource(gateways).Namespace(ref.Namespace()).Get(ctx, ref.Name(), metav1.GetOptions{})
	switch {
	case err == nil && slices.Contains(object.Finalizers, model.Finalizer):
		return 0, nil // the plan will have it
	// the kind itself is gone: nothing is known
	case apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return recheckInterval, nil
	case err != nil && !apierrors.IsNotFound(err):
		return 0, err
	}
	for _, own := range d.ownObjects(ref) {
		if err := d.deleteObject(ctx, ref, own.kind, own.GetName(), own.GetUID()); err != nil {
			return 0, fmt.Errorf("delete %s %s: %w", own.kind, own.GetName(), err)
		}
	}
	d.forgetRecord(ref)
	return 0, nil
}

// ownObject is an object that this package applied.
type ownObject struct {
	kind kind
	metav1.Object
}

// ownObjects lists the objects that belong to a Gateway by their metadata, in the order of deletion.
func (d *Deployer) ownObjects(ref model.ObjectRef) (list []ownObject) {
	for _, k := range deletionOrder {
		for _, o := range d.informers[k].GetStore().List() {
			object, ok := o.(metav1.Object)
			if !ok {
				continue
			}
			if of, _ := gatewayOf(object); of == ref && isApplied(object) {
				list = append(list, ownObject{k, object})
			}
		}
	}
	return list
}

// deleteObject deletes the object with that UID. It is no error if there is none.
func (d *Deployer) deleteObject(ctx context.Context, ref model.ObjectRef, k kind, name string, uid types.UID) error {
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &uid}}
	err := d.objects.Resource(k.groupVersionResource()).Namespace(ref.Namespace()).Delete(ctx, name, options)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return err
	}
	d.mu.Lock()
	if r := d.records[ref]; r != nil {
		r.objects[k] = appliedObject{}
	}
	d.mu.Unlock()
	return nil
}

// forgetRecord drops the record and the front of a Gateway or an XBackend.
func (d *Deployer) forgetRecord(ref model.ObjectRef) {
	d.cfg.Graph.Apply("front", func(b *flow.Batch) { d.cfg.Fronts.Delete(b, ref) })
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.records[ref]; r != nil && r.service != "" {
		delete(d.ownersByName, types.NamespacedName{Namespace: ref.Namespace(), Name: r.service})
	}
	delete(d.records, ref)
}
