package apply

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"cardea.dev/cardea/internal/ledger"
)

// watchBackoff is how often an API server that does not answer, or has no such kind, is asked again.
var watchBackoff = wait.Backoff{Duration: 200 * time.Millisecond, Cap: 10 * time.Second, Steps: 50, Factor: 2,
	Jitter: 0.5}

// watchKinds keeps a watch for each kind that has objects, until ctx ends.
func (v *watcher) watchKinds(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	running := map[schema.GroupKind]context.CancelFunc{}
	for {
		v.mu.Lock()
		wanted := map[schema.GroupKind]bool{}
		for kind := range v.kinds {
			wanted[kind] = true
		}
		v.mu.Unlock()
		for kind, stop := range running {
			if !wanted[kind] {
				stop()
				delete(running, kind)
			}
		}
		for kind := range wanted {
			if running[kind] == nil {
				one, stop := context.WithCancel(ctx)
				running[kind] = stop
				group.Go(func() { v.watchKind(one, kind) })
			}
		}
		select {
		case <-ctx.Done():
			for _, stop := range running {
				stop()
			}
			return
		case <-v.kind:
		}
	}
}

// watchKind lists and watches all objects of a kind until ctx ends.
func (v *watcher) watchKind(ctx context.Context, kind schema.GroupKind) {
	// The client library tells its errors to a logger of its own; that the API server does not answer is said once.
	quiet := logr.Discard()
	ctx = klog.NewContext(ctx, quiet)
	backoff := watchBackoff
	cache.NewReflectorWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			from, err := v.w.api.all(ctx, kind)
			if err != nil {
				return nil, err
			}
			list, err := from.List(ctx, o)
			if noKind(err) {
				v.w.api.refresh(ctx) // perhaps it is served in another version by now
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			from, err := v.w.api.all(ctx, kind)
			if err != nil {
				return nil, err
			}
			return from.Watch(ctx, o)
		},
	}, nil, &sights{watcher: v, kind: kind, exact: exactKind(kind)}, cache.ReflectorOptions{
		Name: "ledger/" + kind.String(), Backoff: &backoff, Logger: &quiet}).RunWithContext(ctx)
}

// sights is the store of a Reflector: it sums up what it gets and keeps nothing.
type sights struct {
	*watcher
	kind  schema.GroupKind
	exact bool
}

func (s *sights) place(o metav1.Object) place { return place{s.kind, o.GetNamespace(), o.GetName()} }

// Add is for the Reflector.
func (s *sights) Add(is any) error {
	if o, ok := is.(*unstructured.Unstructured); ok {
		s.saw(s.place(o), s.sight(o))
	}
	return nil
}

// Update is for the Reflector.
func (s *sights) Update(is any) error { return s.Add(is) }

// Delete is for the Reflector.
func (s *sights) Delete(is any) error {
	if o, ok := is.(*unstructured.Unstructured); ok {
		s.saw(s.place(o), sight{gone: true, version: o.GetResourceVersion()})
	}
	return nil
}

// Replace is for the Reflector.
func (s *sights) Replace(list []any, version string) error {
	all := make(map[place]sight, len(list))
	for _, is := range list {
		if o, ok := is.(*unstructured.Unstructured); ok {
			all[s.place(o)] = s.sight(o)
		}
	}
	s.sawAll(s.kind, all, version)
	return nil
}

// Resync is for the Reflector.
func (s *sights) Resync() error { return nil }

// sight sums up an object. Of one that is not the ledger's by any sign, little is needed.
func (s *sights) sight(o *unstructured.Unstructured) sight {
	seen := sight{uid: string(o.GetUID()), version: o.GetResourceVersion(), generation: generationOf(o),
		id: o.GetAnnotations()[ledger.ObjectAnnotation], ending: o.GetDeletionTimestamp() != nil}
	s.mu.Lock()
	i := s.items[s.place(o)]
	result, known := "", i != nil
	if known {
		result = i.applied.Result
	}
	s.mu.Unlock()
	if v := ourVersion(o); (known || seen.id != "") && (v == "" || v == o.GetAPIVersion()) {
		if seen.sum = sum(o, s.exact); known && seen.sum != result {
			seen.whole = whole(o)
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
