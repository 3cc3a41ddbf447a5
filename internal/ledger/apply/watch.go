package apply

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"cardea.dev/cardea/internal/core/ledger"
)

// watchBackoff is how often an API server that does not answer, or has no such kind, is asked again.
var watchBackoff = wait.Backoff{Duration: 200 * time.Millisecond, Cap: 10 * time.Second, Steps: 50, Factor: 2,
	Jitter: 0.5}

// watchKinds keeps a watch for each kind that has objects, until ctx ends.
func (v *watcher) watchKinds(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	running := map[kindScope]context.CancelFunc{}
	for {
		wanted := v.listScopes()
		for of, stop := range running {
			if !wanted[of] {
				stop()
				delete(running, of)
			}
		}
		for of := range wanted {
			if running[of] == nil {
				one, stop := context.WithCancel(ctx)
				running[of] = stop
				group.Go(func() { v.watchKind(one, of) })
			}
		}
		select {
		case <-ctx.Done():
			for _, stop := range running {
				stop()
			}
			return
		case <-v.kindsChanged:
		}
	}
}

// listScopes are what is to be watched: a kind in all namespaces, or where it has objects if no more may be read.
func (v *watcher) listScopes() map[kindScope]bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	wanted := map[kindScope]bool{}
	for of := range v.kinds {
		if !v.namespacedOnly[of.kind] {
			of.namespace = ""
		}
		wanted[of] = true
	}
	return wanted
}

// noteReadability notes whether objects could be listed or watched, and says so once. A kind that may not be read in
// all namespaces may be readable where it has objects.
func (v *watcher) noteReadability(ctx context.Context, of kindScope, err error) {
	if ctx.Err() != nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case err == nil && v.unwatchable[of]:
		delete(v.unwatchable, of)
		v.worker.cfg.Log.Info("objects can be watched again", "kind", of.kind.String(), "namespace", of.namespace)
	case err != nil && of.namespace == "" && apierrors.IsForbidden(err) && !v.namespacedOnly[of.kind]:
		v.namespacedOnly[of.kind] = true
		notifyChan(v.kindsChanged)
	case err != nil && !v.unwatchable[of] && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err):
		v.unwatchable[of] = true
		v.worker.cfg.Log.Warn("objects can't be watched: changes by others are not seen", "kind", of.kind.String(),
			"namespace", of.namespace, "error", err)
	}
}

// watchKind lists and watches objects of a kind until ctx ends.
func (v *watcher) watchKind(ctx context.Context, of kindScope) {
	// The client library tells its errors to a logger of its own; the worker says once that the API server does not
	// answer.
	quiet := logr.Discard()
	ctx = klog.NewContext(ctx, quiet)
	backoff := watchBackoff
	cache.NewReflectorWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			from, err := v.worker.api.resourceClient(ctx, of)
			if err != nil {
				v.noteReadability(ctx, of, err)
				return nil, err
			}
			list, err := from.List(ctx, o)
			if noKind(err) {
				v.worker.api.kinds.refresh() // perhaps it is served in another version by now
			}
			v.noteReadability(ctx, of, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			from, err := v.worker.api.resourceClient(ctx, of)
			if err != nil {
				return nil, err
			}
			w, err := from.Watch(ctx, o)
			v.noteReadability(ctx, of, err)
			return w, err
		},
	}, nil, &snapshotStore{watcher: v, of: of, exact: exactKind(of.kind)}, cache.ReflectorOptions{
		Name: "ledger/" + of.kind.String(), Backoff: &backoff, Logger: &quiet}).RunWithContext(ctx)
}

// snapshotStore is the store of a Reflector: it sums up what it gets and keeps nothing.
type snapshotStore struct {
	*watcher
	of    kindScope
	exact bool
}

func (s *snapshotStore) keyOf(o metav1.Object) objectKey {
	return objectKey{s.of.kind, o.GetNamespace(), o.GetName()}
}

// Add is for the Reflector.
func (s *snapshotStore) Add(is any) error {
	if o, ok := is.(*unstructured.Unstructured); ok {
		s.noteWatched(s.keyOf(o), s.takeSnapshot(o))
	}
	return nil
}

// Update is for the Reflector.
func (s *snapshotStore) Update(is any) error { return s.Add(is) }

// Delete is for the Reflector.
func (s *snapshotStore) Delete(is any) error {
	if o, ok := is.(*unstructured.Unstructured); ok {
		s.noteWatched(s.keyOf(o), snapshot{gone: true, version: o.GetResourceVersion()})
	}
	return nil
}

// Replace is for the Reflector.
func (s *snapshotStore) Replace(list []any, version string) error {
	all := make(map[objectKey]snapshot, len(list))
	for _, is := range list {
		if o, ok := is.(*unstructured.Unstructured); ok {
			all[s.keyOf(o)] = s.takeSnapshot(o)
		}
	}
	s.noteList(s.of, all, version)
	return nil
}

// Resync is for the Reflector.
func (s *snapshotStore) Resync() error { return nil }

// takeSnapshot sums up an object. An object without any sign of the ledger needs little.
func (s *snapshotStore) takeSnapshot(o *unstructured.Unstructured) snapshot {
	seen := snapshot{uid: string(o.GetUID()), version: o.GetResourceVersion(), generation: generationOf(o),
		id: o.GetAnnotations()[ledger.ObjectAnnotation], deleting: o.GetDeletionTimestamp() != nil}
	s.mu.Lock()
	i := s.items[s.keyOf(o)]
	result, known := "", i != nil
	if known {
		result = i.applied.Result
	}
	s.mu.Unlock()
	if v := ourVersion(o); (known || seen.id != "") && (v == "" || v == o.GetAPIVersion()) {
		seen.answers = answersOf(o, s.of.kind, s.worker.cfg.awaitsStatus)
		if seen.sum = resultHash(o, s.exact); known && seen.sum != result {
			seen.whole = hashWhole(o)
		}
	}
	return seen
}

// ourVersion is the version of its kind that the ledger wrote an object in; "": it owns nothing of it.
func ourVersion(o metav1.Object) string {
	for _, m := range o.GetManagedFields() {
		if m.Manager == Manager && m.Operation == metav1.ManagedFieldsOperationApply && m.Subresource == "" {
			return m.APIVersion
		}
	}
	return ""
}
