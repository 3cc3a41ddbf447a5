package prefix

// noEntry is no entry.
const noEntry = ^uint32(0)

// recentBlocks holds the blocks that were used last. Entries are numbers in one slice, not pointers: they take 16
// bytes, and the garbage collector has nothing to follow.
//
//	newest -> entry <-> entry <-> entry <- oldest     index: hash -> entry
type recentBlocks struct {
	index          map[uint64]uint32
	entries        []entry
	newest, oldest uint32
	free           uint32 // the first entry that is not used; next leads to others
	capacity       int
}

type entry struct {
	hash        uint64
	newer, next uint32 // next is the one before it in time
}

func newRecentBlocks(capacity int) *recentBlocks {
	return &recentBlocks{index: map[uint64]uint32{}, newest: noEntry, oldest: noEntry, free: noEntry, capacity: capacity}
}

func (r *recentBlocks) hasBlock(hash uint64) bool { _, ok := r.index[hash]; return ok }

// useBlock makes a block the newest; the oldest one goes if there are too many.
func (r *recentBlocks) useBlock(hash uint64) {
	i, known := r.index[hash]
	if known {
		r.unlinkEntry(i)
	} else {
		i = r.takeEntry()
		r.entries[i].hash = hash
		r.index[hash] = i
	}
	r.entries[i].newer, r.entries[i].next = noEntry, r.newest
	if r.newest != noEntry {
		r.entries[r.newest].newer = i
	} else {
		r.oldest = i
	}
	r.newest = i
}

// takeEntry is an entry that is not used.
func (r *recentBlocks) takeEntry() uint32 {
	switch {
	case r.free != noEntry:
		i := r.free
		r.free = r.entries[i].next
		return i
	case len(r.entries) < r.capacity:
		if len(r.entries) == cap(r.entries) { // append might take more than is ever needed
			grown := make([]entry, len(r.entries), min(r.capacity, max(64, len(r.entries)*3/2)))
			copy(grown, r.entries)
			r.entries = grown
		}
		r.entries = append(r.entries, entry{})
		return uint32(len(r.entries) - 1)
	}
	i := r.oldest
	r.unlinkEntry(i)
	delete(r.index, r.entries[i].hash)
	return i
}

// dropBlock forgets a block.
func (r *recentBlocks) dropBlock(hash uint64) {
	i, known := r.index[hash]
	if !known {
		return
	}
	r.unlinkEntry(i)
	delete(r.index, hash)
	r.entries[i].next = r.free
	r.free = i
}

func (r *recentBlocks) unlinkEntry(i uint32) {
	e := r.entries[i]
	if e.newer != noEntry {
		r.entries[e.newer].next = e.next
	} else {
		r.newest = e.next
	}
	if e.next != noEntry {
		r.entries[e.next].newer = e.newer
	} else {
		r.oldest = e.newer
	}
}
