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
	c       *store[K, V]
	began   bool           // the reader has asked once; before that every key is new, and changes need not be noted
	pending map[K]struct{} // changed since it last asked; written by commits under Graph.mu
}

// Follow begins to follow c. It must not be called in a View.
func Follow[K comparable, V any](c *Collection[K, V]) *Follower[K, V] {
	f := &Follower[K, V]{c: storeOf(c)}
	f.c.g.mu.Lock()
	defer f.c.g.mu.Unlock()
	f.c.followers = append(f.c.followers, f)
	return f
}

// Stop stops following. It must not be called in a View.
func (f *Follower[K, V]) Stop() {
	f.c.g.mu.Lock()
	defer f.c.g.mu.Unlock()
	f.c.followers = slices.DeleteFunc(f.c.followers, func(o *Follower[K, V]) bool { return o == f })
}

// note is called by a commit.
func (f *Follower[K, V]) note(k K) {
	if !f.began {
		return
	}
	if f.pending == nil {
		f.pending = map[K]struct{}{}
	}
	f.pending[k] = struct{}{}
}

// Changes yields the changes from the View of the last call up to v, sorted by key: each key once, with its last state.
// The first call yields every present key. A key that appeared and was deleted in between is reported as deleted. Keys
// that the loop did not reach come again in the next call. In the View of a Try see [Staged].
func (f *Follower[K, V]) Changes(v View) iter.Seq[Change[K, V]] {
	return func(yield func(Change[K, V]) bool) {
		v.check(f.c.g, f.c.name)
		if v.s.staged {
			panic("flow: Follower of " + f.c.name + " used in a Try")
		}
		keys := f.take()
		reached := 0
		defer func() {
			for _, k := range keys[reached:] {
				f.note(k)
			}
		}()
		for _, k := range keys {
			reached++
			change := Change[K, V]{Key: k, Deleted: true}
			if s := f.c.base.find(k); s != nil && s.present {
				change.Value, change.Deleted = s.cell.value, false
			}
			if !yield(change) {
				return
			}
		}
	}
}

// take returns the keys of the changes, sorted: at the first call every present key.
func (f *Follower[K, V]) take() []K {
	keys := make([]K, 0, len(f.pending))
	for k := range f.pending {
		keys = append(keys, k)
	}
	f.pending = nil // a cleared map would keep its capacity
	if !f.began {
		f.began = true
		for s := range f.c.base.all {
			if s.present {
				keys = append(keys, s.cell.key)
			}
		}
	}
	slices.SortFunc(keys, func(a, b K) int { return f.c.order(unsafe.Pointer(&a), unsafe.Pointer(&b)) })
	return keys
}

// Staged is what the edits of a Try change in c, in no particular order. v is the View of the Try.
func Staged[K comparable, V any](v View, c *Collection[K, V]) iter.Seq[Change[K, V]] {
	return func(yield func(Change[K, V]) bool) {
		from := storeOf(c)
		v.check(from.g, from.name)
		if !v.s.staged {
			panic("flow: Staged used on " + from.name + " outside a Try")
		}
		for _, s := range from.changed {
			change := Change[K, V]{Key: s.key(), Deleted: true}
			if s.next != nil {
				change.Value, change.Deleted = s.next.value, false
			}
			if !yield(change) {
				return
			}
		}
	}
}
