package flow

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"
)

// store is what a Collection stands for.
type store[K comparable, V any] struct {
	handle Collection[K, V]

	// Set at construction.
	g     *Graph
	name  string
	index uint16
	form  form
	shape shape
	order func(a, b unsafe.Pointer) int // of keys

	// The committed values. Written under Graph.mu.
	base      table[K, V] // present keys, and absent keys that a run fetched
	present   int
	followers []*Follower[K, V]

	// The overlay. Only the goroutine of the turn writes it.
	fresh   table[K, V]   // keys that base does not have
	touched []*slot[K, V] // keys with a staged value, in base or fresh
	changed []*slot[K, V] // the slots of touched with another value; complete after finish
	idles   []*node

	// Keys fetched in this turn that neither base nor fresh has. All workers write it.
	absentMu sync.Mutex
	absent   table[K, V]

	counters counters
	sums     map[*cell[K, V]]uint64 // check mode: hash of each stored value
}

// form is what differs between the forms of collections.
type form interface {
	compute(t *turn)
	enqueue(r *run)
	fold()
	drop()
	runs(each func(d *runDump, outs []*node))
}

// cell is one value of one key. It never changes, so groups share it.
type cell[K comparable, V any] struct {
	key   K
	value V
}

// node is what is kept for a key, whatever its type is. It is the first field of a slot.
type node struct {
	id        uint64
	changedAt Rev   // under Graph.mu
	runs      *run  // one for each collection made from this one, while the key is present
	readers   **run // the first of nreaders runs that fetched this key; see edge.go
	nreaders  uint32
	stale     uint32 // how many of them no longer depend on it
	coll      uint16
	present   bool // under Graph.mu
	touched   bool // only during a turn
}

// slot is the place of a key. A committed slot always has a cell; if the key is absent, the cell has only the key. A
// new slot has a staged value, a cell with the key, or both.
type slot[K comparable, V any] struct {
	node
	cell *cell[K, V] // under Graph.mu
	next *cell[K, V] // staged, if touched; nil is a deletion
}

// now is the value as this turn sees it, or nil.
func (s *slot[K, V]) now() *cell[K, V] {
	switch {
	case s.touched:
		return s.next
	case s.present:
		return s.cell
	}
	return nil
}

// was is the committed value, or nil.
func (s *slot[K, V]) was() *cell[K, V] {
	if s.present {
		return s.cell
	}
	return nil
}

func (s *slot[K, V]) key() K {
	if s.cell != nil {
		return s.cell.key
	}
	return s.next.key
}

func newStore[K comparable, V any](g *Graph, name string) *store[K, V] {
	c := &store[K, V]{g: g, name: name}
	c.handle.stage = c
	var err error
	if c.order, err = orderOf(reflect.TypeFor[K]()); err != nil {
		panic(fmt.Sprintf("flow: collection %q: key %v", name, err))
	}
	if c.shape, err = shapeOf(reflect.TypeFor[V]()); err != nil {
		panic(fmt.Sprintf("flow: collection %q: value %v", name, err))
	}
	if err := readable(reflect.TypeFor[V](), reflect.TypeFor[V]().String()); err != nil {
		panic(fmt.Sprintf("flow: collection %q: value %v", name, err))
	}
	if g.cfg.Check {
		c.sums = map[*cell[K, V]]uint64{}
	}
	c.index = g.register(name, c)
	return c
}

func (c *store[K, V]) title() string    { return c.name }
func (c *store[K, V]) compute(t *turn)  { c.form.compute(t) }
func (c *store[K, V]) enqueue(r *run)   { c.form.enqueue(r) }
func (c *store[K, V]) fold()            { c.form.fold() }
func (c *store[K, V]) changes() int     { return len(c.changed) }
func (c *store[K, V]) idle(n *node)     { c.idles = append(c.idles, n) }
func (c *store[K, V]) count() *counters { return &c.counters }
func (c *store[K, V]) label(n *node) any {
	return slotOf[K, V](n).cell.key
}

func slotOf[K comparable, V any](n *node) *slot[K, V] {
	return (*slot[K, V])(unsafe.Pointer(n))
}

func (c *store[K, V]) equal(a, b *V) bool {
	return c.shape.equal(unsafe.Pointer(a), unsafe.Pointer(b))
}

// find returns the slot of k as this turn sees it, or nil.
func (c *store[K, V]) find(k K) *slot[K, V] {
	if s := c.base.find(k); s != nil {
		return s
	}
	return c.fresh.find(k)
}

// write stages a value and returns its slot. Only for the goroutine of the turn, while it computes this collection.
func (c *store[K, V]) write(next *cell[K, V]) *slot[K, V] {
	s := c.find(next.key)
	fresh := s == nil
	if fresh {
		s = c.newSlot()
	}
	c.stage(s, next)
	if fresh {
		c.fresh.insert(s)
	}
	return s
}

// place finds the slot of k, or makes it if there is none. Only for the goroutine of the turn, while it computes this
// collection.
func (c *store[K, V]) place(k K) *slot[K, V] {
	s := c.find(k)
	if s == nil {
		s = c.newSlot()
		s.cell = &cell[K, V]{key: k}
		c.fresh.insert(s)
	}
	return s
}

// expect finds the slot of k, or makes one for an absent key, so that the run of a Fetch can depend on it. Safe for
// workers.
func (c *store[K, V]) expect(k K) *slot[K, V] {
	if s := c.find(k); s != nil {
		return s
	}
	c.absentMu.Lock()
	defer c.absentMu.Unlock()
	s := c.absent.find(k)
	if s == nil {
		s = c.newSlot()
		s.cell = &cell[K, V]{key: k}
		c.absent.insert(s)
	}
	return s
}

func (c *store[K, V]) newSlot() *slot[K, V] {
	return &slot[K, V]{node: node{id: c.g.nextID.Add(1), coll: c.index}}
}

// cellFor is the committed cell of k if its value is equal to v, else a new one. Safe for workers of this collection.
func (c *store[K, V]) cellFor(k K, v V) *cell[K, V] {
	if s := c.base.find(k); s != nil && s.present && c.equal(&s.cell.value, &v) {
		return s.cell
	}
	return &cell[K, V]{key: k, value: v}
}

// stage sets the state of s after this turn; nil deletes.
func (c *store[K, V]) stage(s *slot[K, V], next *cell[K, V]) {
	if !s.touched {
		s.touched = true
		c.touched = append(c.touched, s)
	}
	if c.sums != nil && s.next != nil && s.next != s.cell {
		delete(c.sums, s.next)
	}
	if next == nil && s.cell == nil {
		s.cell = &cell[K, V]{key: s.next.key} // it was added and deleted in one turn
	}
	s.next = next
	if c.sums != nil && next != nil && next != s.cell {
		c.sums[next] = c.sum(next)
	}
}

// finish finds what this turn changed and queues the runs that read it.
func (c *store[K, V]) finish(*turn) {
	for _, s := range c.touched {
		if s.now() != s.was() {
			c.changed = append(c.changed, s)
			c.g.queueReaders(&s.node)
		}
	}
}

// commit makes the overlay the committed state. The caller holds Graph.mu.
func (c *store[K, V]) commit(rev Rev) {
	c.insertFresh()
	for _, s := range c.changed {
		s.changedAt = rev
		if s.present {
			delete(c.sums, s.cell)
			c.present--
		}
		if s.next != nil {
			s.cell = s.next
			c.present++
		} else {
			s.cell = &cell[K, V]{key: s.cell.key} // drops the value
		}
		s.present = s.next != nil
		for _, f := range c.followers {
			f.note(s.cell.key)
		}
	}
	for s := range c.absent.all {
		if s.nreaders > 0 {
			c.base.insert(s)
		}
	}
	for _, s := range c.touched {
		c.release(s)
	}
	for _, n := range c.idles {
		c.release(slotOf[K, V](n))
	}
}

// insertFresh moves new keys into base.
func (c *store[K, V]) insertFresh() {
	if c.base.len == 0 {
		c.base = c.fresh // the first load
		return
	}
	for s := range c.fresh.all {
		c.base.insert(s)
	}
}

// release forgets a key that is absent and on which no run depends.
func (c *store[K, V]) release(s *slot[K, V]) {
	if !s.present && s.nreaders == 0 && c.base.find(s.key()) == s {
		c.base.remove(s)
	}
}

// drop ends the overlay. After a commit nothing is lost by it.
func (c *store[K, V]) drop() {
	for i, s := range c.touched {
		if c.sums != nil && s.next != nil && s.next != s.cell {
			delete(c.sums, s.next)
		}
		s.touched, s.next = false, nil
		c.touched[i] = nil
	}
	clear(c.changed)
	clear(c.idles)
	c.touched, c.changed, c.idles = keepSmall(c.touched), keepSmall(c.changed), keepSmall(c.idles)
	c.fresh, c.absent = table[K, V]{}, table[K, V]{}
	c.form.drop()
}

// keepSmall empties a slice for the next turn, but drops a big one, so that the memory of a first load is not kept as
// spare capacity.
func keepSmall[T any](s []T) []T {
	if cap(s) > 1024 {
		return nil
	}
	return s[:0]
}
