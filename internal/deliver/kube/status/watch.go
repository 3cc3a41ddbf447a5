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

// watchKind tells the queue what the API server has of a kind, until ctx ends. It does not log that a kind can't be
// read: the source that reads the objects does.
func (t *term) watchKind(ctx context.Context, k *statusKind) {
	s := &snapshotStore{term: t, objectKind: k}
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

// snapshotStore is the store of a Reflector: it sums up what it gets and keeps nothing.
type snapshotStore struct {
	*term
	objectKind *statusKind
}

// Add is for the Reflector.
func (s *snapshotStore) Add(is any) error {
	o := is.(*object)
	s.queue.recordSeen(o.objectRef(s.objectKind.Kind), o.takeSnapshot(&s.objectKind.statusLayout, s.cfg.controller))
	return nil
}

// Update is for the Reflector.
func (s *snapshotStore) Update(is any) error { return s.Add(is) }

// Delete is for the Reflector.
func (s *snapshotStore) Delete(is any) error {
	o := is.(*object)
	s.queue.recordDeletion(o.objectRef(s.objectKind.Kind), o.versionNumber())
	return nil
}

// Replace is for the Reflector.
func (s *snapshotStore) Replace(list []any, _ string) error {
	all := make(map[model.ObjectRef]snapshot, len(list))
	for _, is := range list {
		o := is.(*object)
		all[o.objectRef(s.objectKind.Kind)] = o.takeSnapshot(&s.objectKind.statusLayout, s.cfg.controller)
	}
	s.queue.recordAllSeen(s.objectKind.Kind, all)
	return nil
}

// Resync is for the Reflector.
func (s *snapshotStore) Resync() error { return nil }
