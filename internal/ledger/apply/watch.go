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
	running := map[scope]context.CancelFunc{}
	for {
		wanted := v.scopes()
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
				group.Go(func() { v.watch(one, of) })
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

// scopes are what is to be watched: a kind in all namespaces, or where it has objects if no more may be read.
func (v *watcher) scopes() map[scope]bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	wanted := map[scope]bool{}
	for of := range v.kinds {
		if !v.narrow[of.kind] {
			of.namespace = ""
		}
		wanted[of] = true
	}
	return wanted
}

// reads notes whether objects could be listed or watched, and says so once. A kind that may not be read in all
// namespaces may be readable where it has objects.
func (v *watcher) reads(ctx context.Context, of scope, err error) {
	if ctx.Err() != nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case err == nil && v.unread[of]:
		delete(v.unread, of)
		v.w.cfg.Log.Info("objects can be watched again", "kind", of.kind.String(), "namespace", of.namespace)
	case err != nil && of.namespace == "" && apierrors.IsForbidden(err) && !v.narrow[of.kind]:
		v.narrow[of.kind] = true
		signal(v.kind)
	case err != nil && !v.unread[of] && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err):
		v.unread[of] = true
		v.w.cfg.Log.Warn("objects can't be watched: what others do to them is not seen", "kind", of.kind.String(),
			"namespace", of.namespace, "error", err)
	}
}

// watch lists and watches objects of a kind until ctx ends.
func (v *watcher) watch(ctx context.Context, of scope) {
	// The client library tells its errors to a logger of its own; the worker says once that the API server does not
	// answer.
	quiet := logr.Discard()
	ctx = klog.NewContext(ctx, quiet)
	backoff := watchBackoff
	cache.NewReflectorWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			from, err := v.w.api.all(ctx, of)
			if err != nil {
				v.reads(ctx, of, err)
				return nil, err
			}
			list, err := from.List(ctx, o)
			if noKind(err) {
				v.w.api.refresh(ctx) // perhaps it is served in another version by now
			}
			v.reads(ctx, of, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			from, err := v.w.api.all(ctx, of)
			if err != nil {
				return nil, err
			}
			w, err := from.Watch(ctx, o)
			v.reads(ctx, of, err)
			return w, err
		},
	}, nil, &sights{watcher: v, of: of, exact: exactKind(of.kind)}, cache.ReflectorOptions{
		Name: "ledger/" + of.kind.String(), Backoff: &backoff, Logger: &quiet}).RunWithContext(ctx)
}

// sights is the store of a Reflector: it sums up what it gets and keeps nothing.
type sights struct {
	*watcher
	of    scope
	exact bool
}

func (s *sights) place(o metav1.Object) place { return place{s.of.kind, o.GetNamespace(), o.GetName()} }

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
	s.sawAll(s.of, all, version)
	return nil
}

// Resync is for the Reflector.
func (s *sights) Resync() error { return nil }

// sight sums up an object. An object without any sign of the ledger needs little.
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
		seen.answers = answersOf(o, s.of.kind, s.w.cfg.awaits)
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
