package flow

import "unsafe"

// table finds slots by key. Unlike a map it has no copy of the key, since the slot's cell has it: 9 bytes a place
// instead of a key and 9. It uses linear probing. Tags avoid most comparisons with the wrong slot. A removal moves the
// following slots up, so there are no tombstones. An empty table may be read.
type table struct {
	kit   *kit
	tags  []uint8 // 0 is free, else the top bits of the hash
	slots []*slot
	len   int
}

const smallestTable = 8

func (t *table) place(h uint64) (place int, tag uint8) {
	return int(h & uint64(len(t.tags)-1)), uint8(h>>57) | 0x80
}

func (t *table) home(s *slot) (place int, tag uint8) { return t.place(t.kit.hash(s.slotKey())) }

// find returns the slot of the key with a hash, or nil.
func (t *table) find(hash uint64, is func(key unsafe.Pointer) bool) *slot {
	if t.len == 0 {
		return nil
	}
	i, tag := t.place(hash)
	for t.tags[i] != 0 {
		if t.tags[i] == tag && is(t.slots[i].slotKey()) {
			return t.slots[i]
		}
		i = (i + 1) & (len(t.tags) - 1)
	}
	return nil
}

// at returns the slot of a key, or nil.
func (t *table) at(key unsafe.Pointer) *slot {
	if t.len == 0 {
		return nil
	}
	return t.find(t.kit.hash(key), func(other unsafe.Pointer) bool { return t.kit.same(other, key) })
}

// insert adds s; its key must not be in t.
func (t *table) insert(s *slot) {
	if 4*(t.len+1) > 3*len(t.tags) {
		t.resize(max(smallestTable, 2*len(t.tags)))
	}
	t.set(s)
	t.len++
}

func (t *table) set(s *slot) {
	i, tag := t.home(s)
	for t.tags[i] != 0 {
		i = (i + 1) & (len(t.tags) - 1)
	}
	t.tags[i], t.slots[i] = tag, s
}

func (t *table) resize(places int) {
	old := t.slots
	t.tags, t.slots = make([]uint8, places), make([]*slot, places)
	for _, s := range old {
		if s != nil {
			t.set(s)
		}
	}
}

// remove takes s out, which is in t.
func (t *table) remove(s *slot) {
	mask := len(t.tags) - 1
	i, _ := t.home(s)
	for t.slots[i] != s {
		i = (i + 1) & mask
	}
	// A follower may move up to the gap unless that is before the place where its own search begins.
	for j := (i + 1) & mask; t.tags[j] != 0; j = (j + 1) & mask {
		home, _ := t.home(t.slots[j])
		if (j-home)&mask >= (j-i)&mask {
			t.tags[i], t.slots[i] = t.tags[j], t.slots[j]
			i = j
		}
	}
	t.tags[i], t.slots[i] = 0, nil
	t.len--
	if len(t.tags) > smallestTable && 8*t.len < len(t.tags) {
		t.resize(len(t.tags) / 2)
	}
}

// all calls yield with each slot. The table must not change meanwhile.
func (t *table) all(yield func(*slot) bool) {
	for _, s := range t.slots {
		if s != nil && !yield(s) {
			return
		}
	}
}
