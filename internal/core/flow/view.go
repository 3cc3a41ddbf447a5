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
	defer v.end()
	read(v)
}

func (v View) end() { v.s.over = true }

// Rev is the revision that this View shows.
func (v View) Rev() Rev { return v.s.rev }

// check panics if v can't be used with a collection of g.
func (v View) check(g *Graph, name string) {
	switch {
	case v.s == nil:
		panic("flow: zero View used on collection " + name)
	case v.s.over:
		panic("flow: View used on collection " + name + " after its function returned")
	case v.s.g != g:
		panic("flow: View of another graph used on collection " + name)
	}
}

// in is the value of s in v, or nil.
func (s *slot[K, V]) in(v View) *cell[K, V] {
	if v.s.staged {
		return s.now()
	}
	return s.was()
}

func (c *store[K, V]) at(v View, k K) *slot[K, V] {
	v.check(c.g, c.name)
	if v.s.staged {
		return c.find(k)
	}
	return c.base.find(k)
}

// Get is the value of k.
func Get[K comparable, V any](v View, c *Collection[K, V], k K) (V, bool) {
	if s := storeOf(c).at(v, k); s != nil {
		if at := s.in(v); at != nil {
			return at.value, true
		}
	}
	var none V
	return none, false
}

// All is every key and value, in no particular order.
func All[K comparable, V any](v View, c *Collection[K, V]) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		from := storeOf(c)
		v.check(from.g, from.name)
		for s := range from.base.all {
			if at := s.in(v); at != nil && !yield(at.key, at.value) {
				return
			}
		}
		if !v.s.staged {
			return
		}
		for s := range from.fresh.all {
			if at := s.in(v); at != nil && !yield(at.key, at.value) {
				return
			}
		}
	}
}

// Len is the number of keys.
func Len[K comparable, V any](v View, c *Collection[K, V]) int {
	from := storeOf(c)
	v.check(from.g, from.name)
	n := from.present
	if v.s.staged {
		for _, s := range from.changed {
			n += btoi(s.next != nil) - btoi(s.present)
		}
	}
	return n
}

// ChangedAt is the Rev in which k got its value, and 0 if it has none. In a Try, the Rev that the turn would get is
// also that of a deletion.
func ChangedAt[K comparable, V any](v View, c *Collection[K, V], k K) Rev {
	s := storeOf(c).at(v, k)
	switch {
	case s == nil:
		return 0
	case v.s.staged && s.now() != s.was():
		return v.s.rev
	case !s.present:
		return 0
	}
	return s.changedAt
}
