package flow

import "iter"

// View is one consistent state of all collections. It is valid until the function that got it returns.
type View struct{ s *snapshot }

type snapshot struct {
	g      *Graph
	rev    Rev
	staged bool // a Try: the overlay counts
	over   bool
}

// View calls read with the newest committed state. Commits wait for it, so read copies what it needs and returns; see
// "Goroutines" in the package comment for what must not be called in it. Before the first turn the Rev is 0 and every
// collection is empty.
func (g *Graph) View(read func(View)) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	v := View{&snapshot{g: g, rev: g.rev}}
	defer v.endView()
	read(v)
}

func (v View) endView() { v.s.over = true }

// Rev is the revision that this View shows.
func (v View) Rev() Rev { return v.s.rev }

// checkUse panics if v can't be used with a collection of g.
func (v View) checkUse(g *Graph, name string) {
	switch {
	case v.s == nil:
		panic("flow: zero View used on collection " + name)
	case v.s.over:
		panic("flow: View used on collection " + name + " after its function returned")
	case v.s.g != g:
		panic("flow: View of another graph used on collection " + name)
	}
}

// cellIn is the value of s in v, or nil.
func (s *slot) cellIn(v View) *cell {
	if v.s.staged {
		return s.currentCell()
	}
	return s.committedCell()
}

// slotIn is the slot of k in v, or nil.
func slotIn[K comparable](v View, c *store, k K) *slot {
	v.checkUse(c.g, c.name)
	if v.s.staged {
		return find(c, k)
	}
	return findCommitted(c, k)
}

// Get is the value of k.
func Get[K comparable, V any](v View, c *Collection[K, V], k K) (V, bool) {
	if s := slotIn(v, c.store, k); s != nil {
		if at := s.cellIn(v); at != nil {
			return typedOf[K, V](at).value, true
		}
	}
	var none V
	return none, false
}

// All is every key and value, in no particular order.
func All[K comparable, V any](v View, c *Collection[K, V]) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		from := c.store
		v.checkUse(from.g, from.name)
		for s := range from.base.all {
			if at := typedOf[K, V](s.cellIn(v)); at != nil && !yield(at.key, at.value) {
				return
			}
		}
		if !v.s.staged {
			return
		}
		for s := range from.fresh.all {
			if at := typedOf[K, V](s.cellIn(v)); at != nil && !yield(at.key, at.value) {
				return
			}
		}
	}
}

// Len is the number of keys.
func Len[K comparable, V any](v View, c *Collection[K, V]) int {
	from := c.store
	v.checkUse(from.g, from.name)
	n := from.present
	if v.s.staged {
		for _, s := range from.changed {
			n += boolToInt(s.next != nil) - boolToInt(s.present)
		}
	}
	return n
}

// ChangedAt is the Rev in which k got its value, and 0 if it has none. In a Try, the Rev that the turn would get is
// also that of a deletion.
func ChangedAt[K comparable, V any](v View, c *Collection[K, V], k K) Rev {
	s := slotIn(v, c.store, k)
	switch {
	case s == nil:
		return 0
	case v.s.staged && s.currentCell() != s.committedCell():
		return v.s.rev
	case !s.present:
		return 0
	}
	return s.changedAt
}
