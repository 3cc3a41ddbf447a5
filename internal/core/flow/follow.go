package flow

import (
	"iter"
	"slices"
	"unsafe"
)

// Change is one key with a new value, or without a value.
type Change[K comparable, V any] struct {
	Key     K
	Value   V
	Deleted bool
}

// Follower reports to one reader what changed in a collection since that reader last asked. It keeps the keys of
// changes that the reader has not seen, each once: a slow reader misses no change, and costs no more memory than all
// keys. One goroutine may use it.
type Follower[K comparable, V any] struct {
	c *store
	pending[K]
}

// pending are keys with a change that the reader has not seen.
type pending[K comparable] struct {
	began bool           // the reader has asked once; before that every key is new, and changes need not be noted
	keys  map[K]struct{} // changed since it last asked; written by commits under Graph.mu
}

// noter is a follower as a commit uses it.
type noter interface{ note(key unsafe.Pointer) }

// Follow begins to follow c. It must not be called in a View.
func Follow[K comparable, V any](c *Collection[K, V]) *Follower[K, V] {
	f := &Follower[K, V]{c: c.store}
	f.c.g.mu.Lock()
	defer f.c.g.mu.Unlock()
	f.c.followers = append(f.c.followers, &f.pending)
	return f
}

// Stop stops following. It must not be called in a View.
func (f *Follower[K, V]) Stop() {
	f.c.g.mu.Lock()
	defer f.c.g.mu.Unlock()
	f.c.followers = slices.DeleteFunc(f.c.followers, func(o noter) bool { return o == &f.pending })
}

// note is called by a commit.
func (f *pending[K]) note(key unsafe.Pointer) { f.add(*(*K)(key)) }

func (f *pending[K]) add(k K) {
	if !f.began {
		return
	}
	if f.keys == nil {
		f.keys = map[K]struct{}{}
	}
	f.keys[k] = struct{}{}
}

// Changes yields the changes from the View of the last call up to v, sorted by key: each key once, with its last state.
// The first call yields every present key. A key that appeared and was deleted in between is reported as deleted. Keys
// that the loop did not reach come again in the next call. In the View of a Try see [StagedChanges].
func (f *Follower[K, V]) Changes(v View) iter.Seq[Change[K, V]] {
	return func(yield func(Change[K, V]) bool) {
		v.checkUse(f.c.g, f.c.name)
		if v.s.staged {
			panic("flow: Follower of " + f.c.name + " used in a Try")
		}
		keys := f.take(f.c)
		reached := 0
		defer func() {
			for _, k := range keys[reached:] {
				f.add(k)
			}
		}()
		for _, k := range keys {
			reached++
			change := Change[K, V]{Key: k, Deleted: true}
			if s := findCommitted(f.c, k); s != nil && s.present {
				change.Value, change.Deleted = typedOf[K, V](s.cell).value, false
			}
			if !yield(change) {
				return
			}
		}
	}
}

// take returns the keys of the changes, sorted: at the first call every present key.
func (f *pending[K]) take(c *store) []K {
	keys := make([]K, 0, len(f.keys))
	for k := range f.keys {
		keys = append(keys, k)
	}
	f.keys = nil // a cleared map would keep its capacity
	if !f.began {
		f.began = true
		for s := range c.base.all {
			if s.present {
				keys = append(keys, *(*K)(s.slotKey()))
			}
		}
	}
	slices.SortFunc(keys, func(a, b K) int { return c.order(unsafe.Pointer(&a), unsafe.Pointer(&b)) })
	return keys
}

// StagedChanges is what the edits of a Try change in c, in no particular order. v is the View of the Try.
func StagedChanges[K comparable, V any](v View, c *Collection[K, V]) iter.Seq[Change[K, V]] {
	return func(yield func(Change[K, V]) bool) {
		from := c.store
		v.checkUse(from.g, from.name)
		if !v.s.staged {
			panic("flow: Staged used on " + from.name + " outside a Try")
		}
		for _, s := range from.changed {
			change := Change[K, V]{Key: *(*K)(s.slotKey()), Deleted: true}
			if s.next != nil {
				change.Value, change.Deleted = typedOf[K, V](s.next).value, false
			}
			if !yield(change) {
				return
			}
		}
	}
}
