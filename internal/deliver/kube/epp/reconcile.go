package epp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// reconcilePool brings the objects of a pool's picker up to date. An error is the cluster's and is retried soon.
// Without an error, again is when to look again; 0 means when something changes.
func (r *Runner) reconcilePool(ctx context.Context, pool model.ObjectRef) (again time.Duration, err error) {
	p, known, planned := r.plannedPicker(pool)
	switch {
	case !planned:
		return 0, r.removePicker(ctx, pool)
	case p.Deleting: // the cluster deletes the objects with it
		return 0, nil
	}
	name := nameOf(pool)
	var objects [kindsEnd]*unstructured.Unstructured
	for k := range kindsEnd {
		if objects[k], err = r.lookupObject(ctx, k, name); err != nil {
			return 0, fmt.Errorf("look for %s %s: %w", k, name, err)
		}
		if objects[k] != nil && !isApplied(objects[k]) {
			r.reportProblem(pool,
				fmt.Sprintf("%s %s exists and does not belong to Cardea; delete it, or name your own picker in "+
					"spec.endpointPickerRef", k, name.Name))
			return recheckInterval, nil // nobody watches it
		}
	}
	texts, err := renderObjects(pool, p, r.cfg.Image)
	if err != nil {
		return 0, err
	}
	var changed []string
	var failed []error
	for k, text := range texts {
		wait, did, err := r.applyObject(ctx, pool, kind(k), known, objects[k], text)
		switch {
		case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), apierrors.IsNotFound(err):
			wait = recheckInterval // the namespace is being deleted, with everything in it
		case err != nil:
			failed = append(failed, fmt.Errorf("%s %s: %w", kind(k), name.Name, err))
		case did:
			changed = append(changed, kind(k).String())
		}
		if wait > 0 && (again == 0 || wait < again) {
			again = wait
		}
	}
	if len(changed) > 0 {
		r.cfg.Log.Info("deployed a picker", "object", pool.String(), "name", name.Name, "changed",
			strings.Join(changed, ", "))
	}
	r.reportProblem(pool, findProblem(r.findObject(deployment, name), failed, r.queue.Retries(pool)))
	return again, errors.Join(failed...)
}

// plannedPicker is the plan for a pool, and what is remembered of it. The record is empty if the plan is another one,
// such as that of another pool of the same name: nothing was applied for it.
func (r *Runner) plannedPicker(pool model.ObjectRef) (p plan.PickerSpec, known record, planned bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p, planned = r.pickers[pool]; !planned {
		return p, known, false
	}
	own := r.ensureRecord(pool)
	if own.planned != p {
		*own = record{planned: p, state: own.state}
	}
	return p, *own, true
}

// applyObject applies an object, unless it is as it was when that was done last. did tells whether that changed it;
// wait is when a repair may be made that may not be made now.
func (r *Runner) applyObject(
	ctx context.Context, pool model.ObjectRef, k kind, known record, is *unstructured.Unstructured, text []byte,
) (wait time.Duration, did bool, err error) {
	now, before, last := time.Now(), fingerprint(is), known.fingerprints[k]
	switch {
	case is != nil && before == "": // it is being deleted; the watch tells when it is gone
		return 0, false, nil
	case last != "" && last == before:
		return 0, false, nil
	case last != "" && now.Before(known.noRepairBefore):
		return known.noRepairBefore.Sub(now), false, nil
	}
	force := true
	name := nameOf(pool)
	object, err := r.objects.Resource(k.groupVersionResource()).Namespace(name.Namespace).Patch(ctx, name.Name,
		types.ApplyPatchType,
		text, metav1.PatchOptions{FieldManager: manager, Force: &force})
	if err != nil {
		return 0, false, err
	}
	after := fingerprint(object)
	did = after != before && after != last // the watch may be behind what was written here before
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.ensureRecord(pool)
	own.fingerprints[k] = after
	if did && last != "" {
		if now.Sub(own.noRepairBefore) > quietPeriod {
			r.repairLimiter.Forget(pool)
		}
		own.noRepairBefore = now.Add(r.repairLimiter.When(pool))
		r.cfg.Log.Info("repaired", "kind", k.String(), "namespace", name.Namespace, "name", name.Name)
	}
	return 0, did, nil
}

// lookupObject returns the object of this name, whoever created it, or nil. Objects with Cardea's labels are known from
// the watch; for others it asks the API server.
func (r *Runner) lookupObject(
	ctx context.Context, k kind, name types.NamespacedName,
) (*unstructured.Unstructured, error) {
	if object := r.findObject(k, name); object != nil {
		return object, nil
	}
	object, err := r.objects.Resource(k.groupVersionResource()).Namespace(name.Namespace).Get(ctx, name.Name,
		metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return object, err
}

// isApplied reports whether Cardea applied an object. Labels prove nothing, since they are easily copied.
func isApplied(o metav1.Object) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == manager && f.Operation == metav1.ManagedFieldsOperationApply
	})
}

// deletionOrder is the order in which objects are deleted: first what proxies use, last what the pods need.
var deletionOrder = []kind{service, deployment, roleBinding, serviceAccount}

// removePicker deletes the objects of the picker of a pool that needs none.
func (r *Runner) removePicker(ctx context.Context, pool model.ObjectRef) error {
	name := nameOf(pool)
	removed := false
	for _, k := range deletionOrder {
		object, err := r.lookupObject(ctx, k, name)
		if err == nil && object != nil && object.GetDeletionTimestamp() == nil && isApplied(object) {
			uid, background := object.GetUID(), metav1.DeletePropagationBackground
			err = r.objects.Resource(k.groupVersionResource()).Namespace(name.Namespace).Delete(ctx, name.Name,
				metav1.DeleteOptions{
					PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &uid},
				})
			removed = true
		}
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete %s %s: %w", k, name.Name, err)
		}
	}
	if removed {
		r.cfg.Log.Info("removed a picker", "object", pool.String(), "name", name.Name)
	}
	r.mu.Lock()
	delete(r.records, pool)
	r.mu.Unlock()
	r.cfg.Graph.Apply("picker", func(b *flow.Batch) { r.cfg.States.Delete(b, pool) })
	return nil
}
