package kube

import (
	"context"
	"errors"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// sink takes what a reflector sees, from one goroutine at a time.
type sink[T metav1.ObjectMetaAccessor] struct {
	trim      func(any) (T, error) // of what was sent or what it has made before
	replace   func([]T)            // all there is
	set       func(T)
	remove    func(metav1.Object)
	onFailure func(error) // a request failed; it is made again by itself
	onAnswer  func()      // a request was answered
}

// pace is how soon a request that failed is made again: the pause doubles, up to twice the most.
type pace struct{ pause, maxPause time.Duration }

// followObjects lists and watches until ctx ends.
func followObjects[T metav1.ObjectMetaAccessor](ctx context.Context, r reader, to sink[T], p pace) {
	// what fails is told to the sink; whoever runs this says where the client library's words go
	log := klog.FromContext(ctx)
	backoff := wait.Backoff{Duration: p.pause, Cap: p.maxPause, Steps: 100, Factor: 2, Jitter: 1}
	reflector := cache.NewReflectorWithOptions(listWatch(r, to.onFailure, to.onAnswer), nil, store[T]{to},
		cache.ReflectorOptions{
			Logger: &log, Name: "cardea", Clock: endingClock{ctx: ctx}, Backoff: &backoff,
		})
	reflector.RunWithContext(ctx)
}

// listWatch tells how requests went.
func listWatch(r reader, failed func(error), works func()) cache.ListerWatcher {
	tell := func(ctx context.Context, err error) {
		switch {
		// what was asked for is too old, so it is listed
		case err == nil, apierrors.IsResourceExpired(err), apierrors.IsGone(err):
			works()
		case ctx.Err() == nil:
			failed(err)
		}
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := r.List(ctx, options)
			tell(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := r.Watch(ctx, options)
			if err == nil && hungUp(w) {
				tell(ctx, errHungUp)
			} else {
				tell(ctx, err)
			}
			return w, err
		},
	}
}

// errHungUp is why there was no answer, where the client library does not say.
var errHungUp = errors.New("the connection to the API server was closed before an answer came")

// hungUp says whether a watch is the one that the client library makes up when nothing came in time, or the connection
// was closed, as by a load balancer before an API server that is away. It ends at once, without an error.
func hungUp(w watch.Interface) bool {
	return reflect.TypeOf(w) == reflect.TypeOf(watch.NewEmptyWatch())
}

// store is a sink in the shape that a reflector wants. It keeps nothing.
type store[T metav1.ObjectMetaAccessor] struct{ sink[T] }

func (s store[T]) Add(from any) error { return s.Update(from) }

func (s store[T]) Update(from any) error {
	o, err := s.trim(from)
	if err != nil {
		return err
	}
	s.set(o)
	return nil
}

func (s store[T]) Delete(from any) error {
	o, ok := from.(metav1.Object)
	if !ok {
		return errors.New("an object without metadata")
	}
	s.remove(o)
	return nil
}

func (s store[T]) Replace(list []any, _ string) error {
	objects := make([]T, 0, len(list))
	for i, from := range list {
		o, err := s.trim(from)
		if err != nil {
			return err
		}
		objects, list[i] = append(objects, o), nil
	}
	s.replace(objects)
	return nil
}

func (store[T]) Resync() error { return nil }

// Transformer has a reflector keep no more than the sink wants while it reads a long list.
func (s store[T]) Transformer() cache.TransformFunc {
	return func(from any) (any, error) { return s.trim(from) }
}

// endingClock is a clock with waits that end with ctx: one wait of a reflector does not look at it.
type endingClock struct {
	clock.RealClock
	ctx context.Context
}

func (c endingClock) After(d time.Duration) <-chan time.Time {
	at := make(chan time.Time, 1)
	ctx, cancel := context.WithTimeout(c.ctx, d)
	context.AfterFunc(ctx, func() {
		cancel()
		at <- time.Now()
	})
	return at
}
