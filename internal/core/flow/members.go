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
type Members[K comparable, A any] struct{ list []*member }

// member is a place in groups. All groups of a key share one.
type member struct {
	cell  *cell
	order string
}

func (m Members[K, A]) typed(i int) *typed[K, A] { return typedOf[K, A](m.list[i].cell) }

// Len is the number of members. A group in a collection has at least one.
func (m Members[K, A]) Len() int { return len(m.list) }

// At is the member at i, counted from 0.
func (m Members[K, A]) At(i int) (K, A) { return m.typed(i).key, m.typed(i).value }

// All is every member, in order.
func (m Members[K, A]) All() iter.Seq2[K, A] {
	return func(yield func(K, A) bool) {
		for i := range m.list {
			if at := m.typed(i); !yield(at.key, at.value) {
				return
			}
		}
	}
}

// MarshalJSON writes the keys. The values stand in the collection that was grouped.
func (m Members[K, A]) MarshalJSON() ([]byte, error) {
	keys := make([]any, len(m.list))
	for i := range m.list {
		keys[i] = toJSON(m.typed(i).key)
	}
	return json.Marshal(keys)
}

// membersKit is the kit of the members of a group, with the type of their values.
func (Members[K, A]) membersKit() (kit, reflect.Type) {
	k := keyKit[K]()
	k.at = unsafe.Offsetof(typed[K, A]{}.value)
	return k, reflect.TypeFor[A]()
}

// membersShape: members are equal if their keys and values are. Mostly they are the same cells.
func (b *shaper) membersShape(of grouping, path string) (shape, error) {
	kit, value := of.membersKit()
	var err error
	if kit.shape, err = b.shapeAt(value, path+" member"); err != nil {
		return shape{}, err
	}
	return shape{
		equal: func(p, q unsafe.Pointer) bool {
			return slices.EqualFunc(listAt(p), listAt(q), func(x, y *member) bool {
				return x == y || x.cell == y.cell || kit.same(x.cell.key(), y.cell.key()) && kit.equal(x.cell, y.cell)
			})
		},
		// Nothing outside this package can write to members, and their values are checked where they are stored.
		hash: func(h uint64, p unsafe.Pointer) uint64 { return mix(h, uint64(len(listAt(p)))) },
	}, nil
}

// listAt is the list of Members of any types.
func listAt(members unsafe.Pointer) []*member { return (*Members[int, int])(members).list }
