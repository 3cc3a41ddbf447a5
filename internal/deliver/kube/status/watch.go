package status

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"cardea.dev/cardea/internal/core/model"
)

// watchBackoff is how often an API server that does not answer, or has no such kind, is asked again.
var watchBackoff = wait.Backoff{Duration: 200 * time.Millisecond, Cap: 10 * time.Second, Steps: 50, Factor: 2,
	Jitter: 0.5}

// watch tells the queue what the API server has of a kind, until ctx ends. It does not log that a kind can't be read:
// the source that reads the objects does.
func (t *term) watch(ctx context.Context, k *statusKind) {
	s := &sights{term: t, kind: k}
	backoff := watchBackoff
	cache.NewReflectorWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return t.clients.list(ctx, k, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return t.clients.watch(ctx, k, o)
		},
	}, &object{}, s, cache.ReflectorOptions{Name: "status/" + k.Plural, Backoff: &backoff}).RunWithContext(ctx)
}

// sights is the store of a Reflector: it sums up what it gets and keeps nothing.
type sights struct {
	*term
	kind *statusKind
}

// Add is for the Reflector.
func (s *sights) Add(is any) error {
	o := is.(*object)
	s.queue.saw(o.ref(s.kind.Kind), o.sight(&s.kind.form, s.cfg.controller))
	return nil
}

// Update is for the Reflector.
func (s *sights) Update(is any) error { return s.Add(is) }

// Delete is for the Reflector.
func (s *sights) Delete(is any) error {
	o := is.(*object)
	s.queue.lost(o.ref(s.kind.Kind), o.number())
	return nil
}

// Replace is for the Reflector.
func (s *sights) Replace(list []any, _ string) error {
	all := make(map[model.ObjectRef]sight, len(list))
	for _, is := range list {
		o := is.(*object)
		all[o.ref(s.kind.Kind)] = o.sight(&s.kind.form, s.cfg.controller)
	}
	s.queue.sawAll(s.kind.Kind, all)
	return nil
}

// Resync is for the Reflector.
func (s *sights) Resync() error { return nil }
