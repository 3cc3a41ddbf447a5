// Package queue calls a function for keys that were queued, until it succeeds: the work queue of the edges that
// write to the cluster.
//
// It owns that no two calls for one key run at the same time, how soon a failure is retried, what is logged of it, and
// that a panic concerns one key. It must never know what a key stands for, or what is done for it.
package queue

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

const (
	// firstRetry and lastRetry bound the pause after a failure. Each is twice as long as the one before.
	firstRetry, lastRetry = 100 * time.Millisecond, 15 * time.Second
	// timeout is how long one call may take. It bounds what an API server that hangs can hold up.
	timeout = 30 * time.Second
)

// Config is what a Queue needs.
type Config[K Key] struct {
	// Do brings what a key stands for up to date. An error is retried soon. Without an error, again is when to call it
	// once more; 0: when the key is queued.
	Do      func(ctx context.Context, key K) (again time.Duration, err error)
	Workers int          // calls at a time; at least 1
	Subject string       // what a key stands for, with which lines of the log begin: "a picker"
	Log     *slog.Logger // nil: nothing is logged
}

// Key names an object. String is for the log.
type Key interface {
	comparable
	fmt.Stringer
}

// Queue is the keys for which there is something to do.
type Queue[K Key] struct {
	cfg  Config[K]
	keys workqueue.TypedRateLimitingInterface[K]

	mu      sync.Mutex
	failing map[K]string // the last error of each key, if its last call failed
}

// New makes a Queue. It works while Run runs, and ends with it, or when it is closed.
func New[K Key](cfg Config[K]) *Queue[K] {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Queue[K]{cfg: cfg, failing: map[K]string{}, keys: workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[K](firstRetry, lastRetry))}
}

// Add queues a key, once.
func (q *Queue[K]) Add(key K) { q.keys.Add(key) }

// Renew queues a key and forgets its earlier failures, since another result is wanted.
func (q *Queue[K]) Renew(key K) {
	q.keys.Forget(key)
	q.keys.Add(key)
}

// Retries is how often a key was retried since it succeeded, or was renewed.
func (q *Queue[K]) Retries(key K) int { return q.keys.NumRequeues(key) }

// CountFailing is the number of keys with a last call that failed.
func (q *Queue[K]) CountFailing() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.failing)
}

// Close ends a Queue, also one that never ran.
func (q *Queue[K]) Close() { q.keys.ShutDown() }

// Run works until ctx ends. It can be called once.
func (q *Queue[K]) Run(ctx context.Context) {
	var workers sync.WaitGroup
	for range q.cfg.Workers {
		workers.Go(func() {
			for q.processNext(ctx) {
			}
		})
	}
	<-ctx.Done()
	q.Close()
	workers.Wait()
}

// processNext does what there is to do for one key; false: the queue has ended.
func (q *Queue[K]) processNext(ctx context.Context) bool {
	key, end := q.keys.Get()
	if end {
		return false
	}
	defer q.keys.Done(key)
	again, err := q.doWithRecover(ctx, key)
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		q.logTransition(key, err.Error())
		q.keys.AddRateLimited(key)
		return true
	}
	q.logTransition(key, "")
	q.keys.Forget(key)
	if again > 0 {
		q.keys.AddAfter(key, again)
	}
	return true
}

// doWithRecover makes the call. It contains a panic, which is a bug, so that only this key is affected.
func (q *Queue[K]) doWithRecover(ctx context.Context, key K) (again time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer func() {
		if problem := recover(); problem != nil {
			q.cfg.Log.Error("panic", "object", key.String(), "problem", problem, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", problem)
		}
	}()
	return q.cfg.Do(ctx, key)
}

// logTransition logs an error when it begins, when it changes, and when it is over ("").
func (q *Queue[K]) logTransition(key K, now string) {
	q.mu.Lock()
	before := q.failing[key]
	if now == "" {
		delete(q.failing, key)
	} else {
		q.failing[key] = now
	}
	q.mu.Unlock()
	switch {
	case now != "" && now != before:
		q.cfg.Log.Warn(q.cfg.Subject+": failed; retrying", "object", key.String(), "error", now)
	case now == "" && before != "":
		q.cfg.Log.Info(q.cfg.Subject+": succeeded after failures", "object", key.String())
	}
}
