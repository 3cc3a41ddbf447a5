package flow

import "hash/maphash"

// table finds slots by key. Unlike a map it has no copy of the key, since the slot's cell has it: 9 bytes a place
// instead of a key and 9. It uses linear probing. Tags avoid most comparisons with the wrong slot. A removal moves the
// following slots up, so there are no tombstones. The zero table is empty and may be read.
type table[K comparable, V any] struct {
	tags  []uint8 // 0 is free, else the top bits of the hash
	slots []*slot[K, V]
	len   int
	seed  maphash.Seed
}

const smallestTable = 8

func (t *table[K, V]) hash(k K) (place int, tag uint8) {
	h := maphash.Comparable(t.seed, k)
	return int(h & uint64(len(t.tags)-1)), uint8(h>>57) | 0x80
}

func (t *table[K, V]) find(k K) *slot[K, V] {
	if t.len == 0 {
		return nil
	}
	i, tag := t.hash(k)
	for t.tags[i] != 0 {
		if t.tags[i] == tag && t.slots[i].key() == k {
			return t.slots[i]
		}
		i = (i + 1) & (len(t.tags) - 1)
	}
	return nil
}

// insert adds s; its key must not be in t.
func (t *table[K, V]) insert(s *slot[K, V]) {
	if 4*(t.len+1) > 3*len(t.tags) {
		t.resize(max(smallestTable, 2*len(t.tags)))
	}
	t.set(s)
	t.len++
}

func (t *table[K, V]) set(s *slot[K, V]) {
	i, tag := t.hash(s.key())
	for t.tags[i] != 0 {
		i = (i + 1) & (len(t.tags) - 1)
	}
	t.tags[i], t.slots[i] = tag, s
}

func (t *table[K, V]) resize(places int) {
	if t.tags == nil {
		t.seed = maphash.MakeSeed()
	}
	old := t.slots
	t.tags, t.slots = make([]uint8, places), make([]*slot[K, V], places)
	for _, s := range old {
		if s != nil {
			t.set(s)
		}
	}
}

// remove takes s out, which is in t.
func (t *table[K, V]) remove(s *slot[K, V]) {
	mask := len(t.tags) - 1
	i, _ := t.hash(s.key())
	for t.slots[i] != s {
		i = (i + 1) & mask
	}
	// A follower may move up to the gap unless that is before the place where its own search begins.
	for j := (i + 1) & mask; t.tags[j] != 0; j = (j + 1) & mask {
		home, _ := t.hash(t.slots[j].key())
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
func (t *table[K, V]) all(yield func(*slot[K, V]) bool) {
	for _, s := range t.slots {
		if s != nil && !yield(s) {
			return
		}
	}
}
