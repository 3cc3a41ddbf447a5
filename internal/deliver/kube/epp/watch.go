package epp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/core/model"
)

// createInformers creates the informers of own objects.
func (r *Runner) createInformers() error {
	const own = nameLabel + "=" + app + "," + managedByLabel + "=" + manager
	for k := range kindsEnd {
		informer := cache.NewSharedIndexInformer(kubeclient.ListWatch(r.objects.Resource(k.groupVersionResource()), own),
			&unstructured.Unstructured{}, 0, cache.Indexers{})
		if err := informer.SetTransform(trimObject); err != nil {
			return err
		}
		if err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			r.onReadFailure(k, informer.HasSynced(), err)
		}); err != nil {
			return err
		}
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { r.observeObject(k, o, false) },
			UpdateFunc: func(_, o any) { r.observeObject(k, o, false) },
			DeleteFunc: func(o any) { r.observeObject(k, o, true) },
		}); err != nil {
			return err
		}
		r.informers[k] = informer
	}
	return nil
}

// onReadFailure tells that objects can't be read. Until they were, nothing is done: so what a user or an operator has
// to mend is told of each pool.
func (r *Runner) onReadFailure(k kind, before bool, err error) {
	r.cfg.Log.Debug("reading own objects failed; retrying", "kind", k.String(), "error", err)
	if before || !apierrors.IsForbidden(err) {
		return
	}
	r.mu.Lock()
	planned := slices.Collect(maps.Keys(r.pickers))
	r.mu.Unlock()
	for _, pool := range planned {
		r.reportProblem(pool, err.Error()+permissionAdvice)
	}
}

// trimObject drops what nobody reads: what is desired is compared by the generation.
func trimObject(o any) (any, error) {
	if object, ok := o.(*unstructured.Unstructured); ok {
		fields := object.GetManagedFields()
		for i, f := range fields {
			fields[i] = metav1.ManagedFieldsEntry{Manager: f.Manager, Operation: f.Operation}
		}
		object.SetManagedFields(fields)
		delete(object.Object, "spec")
	}
	return o, nil
}

// observeObject handles a change of an own object. It queues the pool if another client made the change, or if the
// change may be of a rollout.
func (r *Runner) observeObject(k kind, o any, deleted bool) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	object, ok := o.(*unstructured.Unstructured)
	if !ok {
		return
	}
	r.mu.Lock()
	ref, planned := r.poolsByName[types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}]
	known := ""
	if r.records[ref] != nil {
		known = r.records[ref].fingerprints[k]
	}
	r.mu.Unlock()
	switch {
	case !planned && deleted:
		return // Cardea deleted it, or it was deleted with its pool
	case !planned:
		if ref, ok = poolOf(object); !ok {
			return
		}
	case !deleted && k != deployment && known == fingerprint(object):
		return
	}
	r.queue.Add(ref)
}

// poolOf is the pool that an object says to belong to.
func poolOf(o metav1.Object) (model.ObjectRef, bool) {
	owner := metav1.GetControllerOf(o)
	if owner == nil {
		return model.ObjectRef{}, false
	}
	group, _, _ := strings.Cut(owner.APIVersion, "/")
	if model.KindOf(group, owner.Kind) != model.KindInferencePool {
		return model.ObjectRef{}, false
	}
	return model.Ref(model.KindInferencePool, o.GetNamespace(), owner.Name), true
}

// findObject returns an own object as the watch showed it last, or nil.
func (r *Runner) findObject(k kind, name types.NamespacedName) *unstructured.Unstructured {
	o, found, err := r.informers[k].GetStore().GetByKey(name.String())
	if err != nil || !found {
		return nil
	}
	object, _ := o.(*unstructured.Unstructured)
	return object
}

// fingerprint changes if the desired state of an object changes. If the kind has generations it does not change when
// only the status is written. "": the object is not there, or is being deleted.
func fingerprint(o *unstructured.Unstructured) string {
	switch {
	case o == nil || o.GetDeletionTimestamp() != nil:
		return ""
	case o.GetGeneration() == 0:
		return fmt.Sprint(o.GetUID(), o.GetResourceVersion())
	}
	text, err := json.Marshal([]any{o.GetUID(), o.GetGeneration(), o.GetLabels(), o.GetOwnerReferences()})
	if err != nil {
		panic(fmt.Sprintf("pickers: %v", err))
	}
	return string(text)
}
