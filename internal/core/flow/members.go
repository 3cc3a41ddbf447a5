package flow

import (
	"encoding/json"
	"iter"
	"reflect"
	"slices"
	"unsafe"
)

// Members is one group: keys of the grouped collection with their values, sorted by the order that was given to Group,
// then by key. It is immutable. An edit of one member copies 8 bytes for each of the others.
type Members[K comparable, A any] struct{ list []*member[K, A] }

// member is a place in groups. All groups of a key share one.
type member[K comparable, A any] struct {
	cell  *cell[K, A]
	order string
}

// Len is the number of members. A group in a collection has at least one.
func (m Members[K, A]) Len() int { return len(m.list) }

// At is the member at i, counted from 0.
func (m Members[K, A]) At(i int) (K, A) { return m.list[i].cell.key, m.list[i].cell.value }

// All is every member, in order.
func (m Members[K, A]) All() iter.Seq2[K, A] {
	return func(yield func(K, A) bool) {
		for _, x := range m.list {
			if !yield(x.cell.key, x.cell.value) {
				return
			}
		}
	}
}

// MarshalJSON writes the keys. The values stand in the collection that was grouped.
func (m Members[K, A]) MarshalJSON() ([]byte, error) {
	keys := make([]any, len(m.list))
	for i, x := range m.list {
		keys[i] = shown(x.cell.key)
	}
	return json.Marshal(keys)
}

// membersShape: members are equal if their keys and values are. Mostly they are the same cells.
func (Members[K, A]) membersShape(b *shaper, path string) (shape, error) {
	of, err := b.shape(reflect.TypeFor[A](), path+" member")
	if err != nil {
		return shape{}, err
	}
	return shape{
		equal: func(p, q unsafe.Pointer) bool {
			return slices.EqualFunc((*Members[K, A])(p).list, (*Members[K, A])(q).list, func(x, y *member[K, A]) bool {
				return x == y || x.cell == y.cell || x.cell.key == y.cell.key &&
					of.equal(unsafe.Pointer(&x.cell.value), unsafe.Pointer(&y.cell.value))
			})
		},
		// Nothing outside this package can write to members, and their values are checked where they are stored.
		hash: func(h uint64, p unsafe.Pointer) uint64 { return mix(h, uint64(len((*Members[K, A])(p).list))) },
	}, nil
}
