package prefix

// none is no entry.
const none = ^uint32(0)

// recent holds the blocks that were used last. Entries are numbers in one slice, not pointers: they take 16 bytes, and
// the garbage collector has nothing to follow.
//
//	newest -> entry <-> entry <-> entry <- oldest     index: hash -> entry
type recent struct {
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

func newRecent(capacity int) *recent {
	return &recent{index: map[uint64]uint32{}, newest: none, oldest: none, free: none, capacity: capacity}
}

func (r *recent) has(hash uint64) bool { _, ok := r.index[hash]; return ok }

// use makes a block the newest; the oldest one goes if there are too many.
func (r *recent) use(hash uint64) {
	i, known := r.index[hash]
	if known {
		r.unlink(i)
	} else {
		i = r.room()
		r.entries[i].hash = hash
		r.index[hash] = i
	}
	r.entries[i].newer, r.entries[i].next = none, r.newest
	if r.newest != none {
		r.entries[r.newest].newer = i
	} else {
		r.oldest = i
	}
	r.newest = i
}

// room is an entry that is not used.
func (r *recent) room() uint32 {
	switch {
	case r.free != none:
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
	r.unlink(i)
	delete(r.index, r.entries[i].hash)
	return i
}

// drop forgets a block.
func (r *recent) drop(hash uint64) {
	i, known := r.index[hash]
	if !known {
		return
	}
	r.unlink(i)
	delete(r.index, hash)
	r.entries[i].next = r.free
	r.free = i
}

func (r *recent) unlink(i uint32) {
	e := r.entries[i]
	if e.newer != none {
		r.entries[e.newer].next = e.next
	} else {
		r.newest = e.next
	}
	if e.next != none {
		r.entries[e.next].newer = e.newer
	} else {
		r.oldest = e.newer
	}
}
