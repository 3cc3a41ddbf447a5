// Package mirror keeps a copy of all objects of a kind and reports each change.
//
// It owns the copy and the watch that fills it. After an outage of the API server, the watch reconnects within a
// second. It must never know what the objects mean. Run blocks its goroutine; the other methods may be called from any.
package mirror

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Object is a pointer to an API object.
type Object interface {
	comparable
	metav1.Object
	runtime.Object
}

// Of is a mirror of all objects of type T. The objects must not be changed.
type Of[T Object] struct {
	reflector *cache.Reflector
	changed   func(old, new T)

	mu      sync.RWMutex
	objects map[types.NamespacedName]T
	synced  chan struct{}
	once    sync.Once
}

// New makes a mirror of a resource, such as "pods". changed is called for each change, in order, from one goroutine,
// after the copy has changed; old or new is nil if the object was created or deleted.
func New[T Object](client rest.Interface, resource string, prototype T, changed func(old, new T)) *Of[T] {
	m := &Of[T]{changed: changed, objects: map[types.NamespacedName]T{}, synced: make(chan struct{})}
	from := cache.NewListWatchFromClient(client, resource, metav1.NamespaceAll, fields.Everything())
	m.reflector = cache.NewReflectorWithOptions(from, prototype, (*store[T])(m), cache.ReflectorOptions{
		Backoff: &wait.Backoff{Duration: 100 * time.Millisecond, Factor: 1.5, Steps: 6, Cap: time.Second, Jitter: 0.1},
	})
	return m
}

// Run follows the objects until ctx ends.
func (m *Of[T]) Run(ctx context.Context) { m.reflector.RunWithContext(ctx) }

// Synced is closed when the copy is complete for the first time.
func (m *Of[T]) Synced() <-chan struct{} { return m.synced }

// Get returns an object, or nil.
func (m *Of[T]) Get(namespace, name string) T {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.objects[types.NamespacedName{Namespace: namespace, Name: name}]
}

// All returns every object, in no order.
func (m *Of[T]) All() []T {
	m.mu.RLock()
	defer m.mu.RUnlock()
	all := make([]T, 0, len(m.objects))
	for _, o := range m.objects {
		all = append(all, o)
	}
	return all
}

func key(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// put changes the copy and reports the change.
func (m *Of[T]) put(k types.NamespacedName, new T) {
	var none T
	m.mu.Lock()
	old := m.objects[k]
	if new == none {
		delete(m.objects, k)
	} else {
		m.objects[k] = new
	}
	m.mu.Unlock()
	if old != none || new != none {
		m.changed(old, new)
	}
}

// store is the mirror as the reflector wants it.
type store[T Object] Of[T]

func (s *store[T]) mirror() *Of[T] { return (*Of[T])(s) }

func (s *store[T]) Add(o any) error { return s.Update(o) }

func (s *store[T]) Update(o any) error {
	s.mirror().put(key(o.(T)), o.(T))
	return nil
}

func (s *store[T]) Delete(o any) error {
	var none T
	s.mirror().put(key(o.(T)), none)
	return nil
}

// Replace takes a whole list: after the start, and when a watch could not go on where it ended.
func (s *store[T]) Replace(list []any, _ string) error {
	m := s.mirror()
	now := make(map[types.NamespacedName]T, len(list))
	for _, o := range list {
		now[key(o.(T))] = o.(T)
	}
	var none T
	for _, old := range m.All() {
		if new := now[key(old)]; new == none || new.GetUID() != old.GetUID() {
			m.put(key(old), none)
		}
	}
	for k, new := range now {
		if old := m.Get(k.Namespace, k.Name); old == none || old.GetResourceVersion() != new.GetResourceVersion() {
			m.put(k, new)
		}
	}
	m.once.Do(func() { close(m.synced) })
	return nil
}

func (s *store[T]) Resync() error { return nil }
