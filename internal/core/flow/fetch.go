package flow

import (
	"fmt"
	"slices"
)

// Ctx is a transform's access to the graph: what it fetches through it is a dependency of its result. It is valid until
// the transform returns.
type Ctx struct {
	g    *Graph
	coll uint16
	name string
	live bool
	deps []*node
}

// Fetch returns the value of k in an earlier collection, as of this turn. An absent key is a dependency, too: the
// transform runs again when the key appears. On a Group this is a lookup in an index.
//
// A collection can't fetch from itself, from one made after it, or from another graph: that panics with a message that
// names both. In check mode the panic isn't contained.
func Fetch[K comparable, V any](c *Ctx, of *Collection[K, V], k K) (V, bool) {
	from := of.store
	switch {
	case !c.live:
		panic(misuse("Ctx of " + c.name + " used after its transform returned"))
	case from.g != c.g:
		panic(misuse(fmt.Sprintf("%s fetches from %s, which is in another graph", c.name, from.name)))
	case from.index >= c.coll:
		panic(misuse(fmt.Sprintf("%s fetches from %s, which is not an earlier collection", c.name, from.name)))
	}
	s := expect(from, k)
	if n := len(c.deps); n == 0 || c.deps[n-1] != &s.node {
		c.deps = append(c.deps, &s.node)
	}
	if at := s.currentCell(); at != nil {
		return typedOf[K, V](at).value, true
	}
	var none V
	return none, false
}

func (c *Ctx) beginRun() {
	c.live = true
	c.deps = c.deps[:0]
}

// endRun returns what was fetched, sorted by id, each once. It is valid until the next begin.
func (c *Ctx) endRun() []*node {
	c.live = false
	slices.SortFunc(c.deps, byID)
	c.deps = slices.Compact(c.deps)
	return c.deps
}
