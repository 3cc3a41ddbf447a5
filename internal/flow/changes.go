package flow

import "iter"

// Change is one key that differs from what it was at an earlier Rev.
type Change[K comparable, V any] struct {
	Key     K
	Value   V
	Deleted bool
	Rev     Rev  // of its last change
	Reset   bool // forget everything; all keys follow. Key is the zero key, and Deleted is set.
}

// Changes is what happened to c after since, up to v: each key once, with its last state, in no particular order. It costs in proportion to what it yields.
//
//   - since 0 is for who knows nothing: every present key, and no deletions.
//   - A deletion is remembered for as long as the collection has no more tombstones than present keys or than 4,096,
//     and always until the next Rev. If one after since is forgotten, the first Change has Reset set and then every present key follows.
//     So who follows each Rev, or lags by few, sees every deletion, and who lags by more never misses one unknowingly.
//
// A key that appeared and went after since is reported as deleted.
func Changes[K comparable, V any](v View, c *Collection[K, V], since Rev) iter.Seq[Change[K, V]] {
	return func(yield func(Change[K, V]) bool) {
		v.check(c.g, c.name)
		whole := since == 0
		if since > 0 && since < c.forgotten {
			whole, since = true, 0
			if !yield(Change[K, V]{Deleted: true, Rev: v.s.rev, Reset: true}) {
				return
			}
		}
		if v.s.staged && since < v.s.rev {
			for _, s := range c.changed {
				if whole && s.next == nil {
					continue
				}
				if !yield(s.change(s.next, v.s.rev)) {
					return
				}
			}
		}
		lists := []*node{c.live.newest, c.dead.newest}
		if whole {
			lists = lists[:1]
		}
		for _, n := range lists {
			for ; n != nil && n.changedAt > since; n = n.older {
				s := slotOf[K, V](n)
				if v.s.staged && s.now() != s.was() {
					continue
				}
				if !yield(s.change(s.was(), s.changedAt)) {
					return
				}
			}
		}
	}
}

// change is s with the value at, or its deletion if that is nil.
func (s *slot[K, V]) change(at *cell[K, V], rev Rev) Change[K, V] {
	if at == nil {
		return Change[K, V]{Key: s.cell.key, Deleted: true, Rev: rev}
	}
	return Change[K, V]{Key: at.key, Value: at.value, Rev: rev}
}
