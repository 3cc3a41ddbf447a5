package flow

import (
	"hash/maphash"
	"sync"
	"unsafe"
)

// store is what a Collection stands for.
type store struct {
	kit

	// Set at construction.
	g     *Graph
	name  string
	index uint16
	form  form

	// The committed values. Written under Graph.mu.
	base      table // present keys, and absent keys that a run fetched
	present   int
	followers []noter

	// The overlay. Only the goroutine of the turn writes it.
	fresh   table   // keys that base does not have
	touched []*slot // keys with a staged value, in base or fresh
	changed []*slot // the slots of touched with another value; complete after finish
	idles   []*node

	// Keys fetched in this turn that neither base nor fresh has. All workers write it.
	absentMu sync.Mutex
	absent   table

	counters counters
	sums     map[*cell]uint64 // check mode: hash of each stored value
}

// form is what differs between the forms of collections.
type form interface {
	computeKeys(t *turn)
	enqueueRun(r *run)
	storeRuns()
	dropStaged()
	eachRun(each func(d *runDump, outs []*node))
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
type slot struct {
	node
	cell *cell // under Graph.mu
	next *cell // staged, if touched; nil is a deletion
}

// currentCell is the value as this turn sees it, or nil.
func (s *slot) currentCell() *cell {
	switch {
	case s.touched:
		return s.next
	case s.present:
		return s.cell
	}
	return nil
}

// committedCell is the committed value, or nil.
func (s *slot) committedCell() *cell {
	if s.present {
		return s.cell
	}
	return nil
}

// some is a cell with the key, whatever its value is.
func (s *slot) some() *cell {
	if s.cell != nil {
		return s.cell
	}
	return s.next
}

func (s *slot) slotKey() unsafe.Pointer { return s.some().key() }

func newStore[K comparable, V any](g *Graph, name string) *store {
	return addStore(g, name, newKit[K, V](name))
}

// addStore adds a store to a graph.
func addStore(g *Graph, name string, of kit) *store {
	c := &store{g: g, name: name, kit: of}
	c.base.kit = &c.kit
	c.fresh, c.absent = table{kit: &c.kit}, table{kit: &c.kit}
	if g.cfg.Check {
		c.sums = map[*cell]uint64{}
	}
	c.index = g.register(name, c)
	return c
}

func (c *store) title() string           { return c.name }
func (c *store) computeKeys(t *turn)     { c.form.computeKeys(t) }
func (c *store) enqueueRun(r *run)       { c.form.enqueueRun(r) }
func (c *store) storeRuns()              { c.form.storeRuns() }
func (c *store) changeCount() int        { return len(c.changed) }
func (c *store) markIdle(n *node)        { c.idles = append(c.idles, n) }
func (c *store) workCounters() *counters { return &c.counters }
func (c *store) nodeKey(n *node) any     { return c.kit.label(slotOf(n).some()) }

func slotOf(n *node) *slot { return (*slot)(unsafe.Pointer(n)) }

// keyHash is the hash of a key whose type is known.
func keyHash[K comparable](c *store, k K) uint64 { return maphash.Comparable(c.seed, k) }

// find returns the slot of k as this turn sees it, or nil.
func find[K comparable](c *store, k K) *slot {
	return c.search(keyHash(c, k), func(key unsafe.Pointer) bool { return *(*K)(key) == k })
}

// findCommitted returns the slot of k as readers see it, or nil.
func findCommitted[K comparable](c *store, k K) *slot {
	return c.base.find(keyHash(c, k), func(key unsafe.Pointer) bool { return *(*K)(key) == k })
}

// search returns the slot of the key with a hash as this turn sees it, or nil.
func (c *store) search(hash uint64, is func(key unsafe.Pointer) bool) *slot {
	if s := c.base.find(hash, is); s != nil {
		return s
	}
	return c.fresh.find(hash, is)
}

// slotAt is search for a key in memory.
func (c *store) slotAt(key unsafe.Pointer) *slot {
	return c.search(c.hash(key), func(other unsafe.Pointer) bool { return c.same(other, key) })
}

// stageValue stages a value and returns its slot. Only for the goroutine of the turn, while it computes this
// collection.
func (c *store) stageValue(next *cell) *slot {
	s := c.slotAt(next.key())
	fresh := s == nil
	if fresh {
		s = c.newSlot()
	}
	c.stageCell(s, next)
	if fresh {
		c.fresh.insert(s)
	}
	return s
}

// ensureSlot finds the slot of a key, or makes it if there is none. Only for the goroutine of the turn, while it
// computes this collection.
func (c *store) ensureSlot(key unsafe.Pointer) *slot {
	s := c.slotAt(key)
	if s == nil {
		s = c.newSlot()
		s.cell = c.only(key)
		c.fresh.insert(s)
	}
	return s
}

// expect finds the slot of k, or makes one for an absent key, so that the run of a Fetch can depend on it. Safe for
// workers.
func expect[K comparable](c *store, k K) *slot {
	if s := find(c, k); s != nil {
		return s
	}
	key := k // the key is copied to the heap here only
	return c.expectAbsent(unsafe.Pointer(&key))
}

func (c *store) expectAbsent(key unsafe.Pointer) *slot {
	c.absentMu.Lock()
	defer c.absentMu.Unlock()
	s := c.absent.at(key)
	if s == nil {
		s = c.newSlot()
		s.cell = c.only(key)
		c.absent.insert(s)
	}
	return s
}

func (c *store) newSlot() *slot {
	return &slot{node: node{id: c.g.nextID.Add(1), coll: c.index}}
}

// committed is the committed cell that is equal to a cell, or nil. Safe for workers of this collection.
func (c *store) committed(like *cell) *cell {
	if s := c.base.at(like.key()); s != nil && s.present && c.equal(s.cell, like) {
		return s.cell
	}
	return nil
}

// set stages a new cell.
func (c *store) set(next *cell) {
	if same := c.committed(next); same != nil {
		next = same
	}
	c.stageValue(next)
}

// stageCell sets the state of s after this turn; nil deletes.
func (c *store) stageCell(s *slot, next *cell) {
	if !s.touched {
		s.touched = true
		c.touched = append(c.touched, s)
	}
	if c.sums != nil && s.next != nil && s.next != s.cell {
		delete(c.sums, s.next)
	}
	if next == nil && s.cell == nil {
		s.cell = c.only(s.next.key()) // it was added and deleted in one turn
	}
	s.next = next
	if c.sums != nil && next != nil && next != s.cell {
		c.sums[next] = c.sum(next)
	}
}

// finishTurn finds what this turn changed and queues the runs that read it.
func (c *store) finishTurn(*turn) {
	for _, s := range c.touched {
		if s.currentCell() != s.committedCell() {
			c.changed = append(c.changed, s)
			c.g.queueReaders(&s.node)
		}
	}
}

// commit makes the overlay the committed state. The caller holds Graph.mu.
func (c *store) commit(rev Rev) {
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
			s.cell = c.only(s.cell.key()) // drops the value
		}
		s.present = s.next != nil
		for _, f := range c.followers {
			f.note(s.slotKey())
		}
	}
	for s := range c.absent.all {
		if s.nreaders > 0 {
			c.base.insert(s)
		}
	}
	for _, s := range c.touched {
		c.releaseKey(s)
	}
	for _, n := range c.idles {
		c.releaseKey(slotOf(n))
	}
}

// insertFresh moves new keys into base.
func (c *store) insertFresh() {
	if c.base.len == 0 {
		c.base = c.fresh // the first load
		return
	}
	for s := range c.fresh.all {
		c.base.insert(s)
	}
}

// releaseKey forgets a key that is absent and on which no run depends.
func (c *store) releaseKey(s *slot) {
	if !s.present && s.nreaders == 0 && c.base.at(s.slotKey()) == s {
		c.base.remove(s)
	}
}

// dropStaged ends the overlay. After a commit nothing is lost by it.
func (c *store) dropStaged() {
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
	c.fresh, c.absent = table{kit: &c.kit}, table{kit: &c.kit}
	c.form.dropStaged()
}

// keepSmall empties a slice for the next turn, but drops a big one, so that the memory of a first load is not kept as
// spare capacity.
func keepSmall[T any](s []T) []T {
	if cap(s) > 1024 {
		return nil
	}
	return s[:0]
}
