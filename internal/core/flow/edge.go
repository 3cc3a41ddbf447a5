package flow

import (
	"slices"
	"unsafe"
)

// run is the last run of a transform on one key of its input, with what it read. Each form adds what the run wrote.
type run struct {
	next  *run  // of another collection, on the same input key
	in    *node // the input key
	deps  **node
	ndeps uint32 // fetched keys, sorted by id, each once
	coll  uint16 // the collection that it feeds
	dirty bool   // queued in this turn
	stale bool   // it panicked; what it wrote before stays
}

// An edge is a pointer in run.deps and one in node.readers: 16 bytes, and the spare room of growing lists.
//
// A short list of readers is exact. In a long list (a key that thousands fetch), finding one reader would make each
// edit cost as much as all readers. So a reader that no longer reads the key is only counted in node.stale, and the
// list is checked against the runs when it is used. When most entries are stale, the list is swept. At all times
// nreaders - stale is the number of edges.

const exactReaders = 16

func (r *run) dependencies() []*node { return unsafe.Slice(r.deps, r.ndeps) }

func (n *node) readerList() []*run { return unsafe.Slice(n.readers, n.nreaders) }

func byID(a, b *node) int {
	switch {
	case a.id < b.id:
		return -1
	case a.id > b.id:
		return 1
	}
	return 0
}

func (r *run) dependsOn(n *node) bool {
	_, ok := slices.BinarySearchFunc(r.dependencies(), n, byID)
	return ok
}

// setDependencies replaces the dependencies of r. deps is sorted by id and belongs to r from now on.
func (g *Graph) setDependencies(r *run, deps []*node) {
	old := r.dependencies()
	r.deps, r.ndeps = unsafe.SliceData(deps), uint32(len(deps))
	for len(old) > 0 || len(deps) > 0 {
		switch {
		case len(deps) == 0 || len(old) > 0 && old[0].id < deps[0].id:
			g.removeReader(old[0], r)
			old = old[1:]
		case len(old) == 0 || deps[0].id < old[0].id:
			deps[0].addReader(r)
			deps = deps[1:]
		default:
			old, deps = old[1:], deps[1:]
		}
	}
}

// addReader appends. The capacity of a list is its length rounded up to a power of two.
func (n *node) addReader(r *run) {
	if n.nreaders&(n.nreaders-1) == 0 { // full, or empty
		grown := make([]*run, max(1, 2*n.nreaders))
		copy(grown, n.readerList())
		n.readers = unsafe.SliceData(grown)
	}
	n.nreaders++
	n.readerList()[n.nreaders-1] = r
}

func (g *Graph) removeReader(n *node, r *run) {
	list := n.readerList()
	if n.stale > 0 || len(list) > exactReaders {
		n.stale++
		if 2*n.stale > n.nreaders {
			n.sweepReaders()
		}
	} else {
		last := len(list) - 1
		list[slices.Index(list, r)] = list[last]
		list[last] = nil
		n.setReaders(list[:last])
	}
	if n.nreaders == 0 {
		g.stages[n.coll].markIdle(n)
	}
}

// sweepReaders keeps each reader that still depends on n, once.
func (n *node) sweepReaders() {
	list := n.readerList()
	// A run that left and came back is in the list twice. After sorting, the two are neighbours.
	slices.SortFunc(list, func(a, b *run) int {
		if a.coll != b.coll {
			return int(a.coll) - int(b.coll)
		}
		return byID(a.in, b.in)
	})
	kept := make([]*run, 0, len(list)/2)
	for _, r := range list {
		if (len(kept) == 0 || kept[len(kept)-1] != r) && r.dependsOn(n) {
			kept = append(kept, r)
		}
	}
	n.stale = 0
	n.setReaders(kept)
}

// setReaders stores a list with exactly the capacity that addReader expects.
func (n *node) setReaders(list []*run) {
	n.nreaders = uint32(len(list))
	if len(list) == 0 {
		n.readers = nil
		return
	}
	room := 1
	for room < len(list) {
		room *= 2
	}
	if cap(list) < room {
		list = append(make([]*run, 0, room), list...)
	}
	n.readers = unsafe.SliceData(list)
}

// queueReaders queues every run that read n.
func (g *Graph) queueReaders(n *node) {
	for _, r := range n.readerList() {
		if r.dirty || n.stale > 0 && !r.dependsOn(n) {
			continue
		}
		g.stages[r.coll].enqueueRun(r)
	}
}

// runFor is the run that feeds the collection coll on this key, or nil.
func (n *node) runFor(coll uint16) *run {
	for r := n.runs; r != nil; r = r.next {
		if r.coll == coll {
			return r
		}
	}
	return nil
}

func (n *node) attachRun(r *run) {
	r.next = n.runs
	n.runs = r
}

func (n *node) detachRun(r *run) {
	for at := &n.runs; *at != nil; at = &(*at).next {
		if *at == r {
			*at = r.next
			r.next = nil
			return
		}
	}
}
