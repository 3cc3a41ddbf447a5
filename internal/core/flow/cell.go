package flow

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"unsafe"
)

// The engine does not name the types of keys and values. The compiler makes the code of a generic type again for each
// of its types, and there are a hundred collections: with an engine of generic types, a third of the program was copies
// of it. So the engine handles cells by pointers, and knows by a kit what it may do with them. What is generic is thin:
// it makes cells, reads them, and calls the functions of users.

// cell is one value of one key. It never changes, so groups share it. It is a typed[K, V] whose types the kit of its
// collection knows; the key is at its beginning.
type cell struct{ _ byte }

// typed is a cell with its types.
type typed[K comparable, V any] struct {
	key   K
	value V
}

func typedOf[K comparable, V any](c *cell) *typed[K, V] { return (*typed[K, V])(unsafe.Pointer(c)) }

func (c *typed[K, V]) cell() *cell { return (*cell)(unsafe.Pointer(c)) }

// key points to the key of a cell.
func (c *cell) key() unsafe.Pointer { return unsafe.Pointer(c) }

// kit is what can be done with the cells of a collection.
type kit struct {
	seed  maphash.Seed
	at    uintptr // of the value in a cell
	size  uintptr // of a key
	order func(a, b unsafe.Pointer) int
	shape shape

	hash  func(key unsafe.Pointer) uint64
	same  func(a, b unsafe.Pointer) bool // keys
	only  func(key unsafe.Pointer) *cell // a cell with the key only
	clone func(c *cell) *cell
	name  func(key unsafe.Pointer) any
	show  func(c *cell) any // the value
	is    func(key any) (unsafe.Pointer, bool)
}

// newKit makes the kit of cells with keys and values of these types, or panics if a collection can't have them.
func newKit[K comparable, V any](collection string) kit {
	k := keyKit[K]()
	k.at = unsafe.Offsetof(typed[K, V]{}.value)
	k.only = func(key unsafe.Pointer) *cell { return (&typed[K, V]{key: *(*K)(key)}).cell() }
	k.clone = func(c *cell) *cell {
		clone := *typedOf[K, V](c)
		return clone.cell()
	}
	k.show = func(c *cell) any { return typedOf[K, V](c).value }
	k.check(collection, reflect.TypeFor[K](), reflect.TypeFor[V]())
	return k
}

// keyKit is the part that depends on the type of the key only.
func keyKit[K comparable]() kit {
	seed := maphash.MakeSeed()
	return kit{
		seed: seed,
		size: unsafe.Sizeof(*new(K)),
		hash: func(key unsafe.Pointer) uint64 { return maphash.Comparable(seed, *(*K)(key)) },
		same: sameKeys[K],
		name: func(key unsafe.Pointer) any { return *(*K)(key) },
		is: func(key any) (unsafe.Pointer, bool) {
			k, ok := key.(K)
			return unsafe.Pointer(&k), ok
		},
	}
}

func sameKeys[K comparable](a, b unsafe.Pointer) bool { return *(*K)(a) == *(*K)(b) }

// check refuses types that a collection can't have.
func (k *kit) check(collection string, key, value reflect.Type) {
	var err error
	if k.order, err = orderOf(key); err != nil {
		panic(fmt.Sprintf("flow: collection %q: key %v", collection, err))
	}
	if k.shape, err = shapeOf(value); err != nil {
		panic(fmt.Sprintf("flow: collection %q: value %v", collection, err))
	}
	if err := checkReadable(value, value.String()); err != nil {
		panic(fmt.Sprintf("flow: collection %q: value %v", collection, err))
	}
}

// value points to the value of a cell.
func (k *kit) value(c *cell) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(c), k.at) }

func (k *kit) equal(a, b *cell) bool { return k.shape.equal(k.value(a), k.value(b)) }

func (k *kit) sum(c *cell) uint64 { return k.shape.hash(1, k.value(c)) }

// label is the key of a cell.
func (k *kit) label(c *cell) any { return k.name(c.key()) }

// cellSet finds cells by their keys.
type cellSet struct {
	kit   *kit
	cells map[uint64]*cell // by hash, or one more where another key has that
}

func newCellSet(k *kit, cells []*cell) *cellSet {
	s := &cellSet{kit: k, cells: make(map[uint64]*cell, 2*len(cells))}
	for _, c := range cells {
		s.add(c)
	}
	return s
}

// add adds a cell and returns nil, or returns the one that has its key.
func (s *cellSet) add(c *cell) *cell {
	for h := s.kit.hash(c.key()); ; h++ {
		switch other := s.cells[h]; {
		case other == nil:
			s.cells[h] = c
			return nil
		case s.kit.same(other.key(), c.key()):
			return other
		}
	}
}

func (s *cellSet) find(key unsafe.Pointer) *cell {
	for h := s.kit.hash(key); ; h++ {
		if other := s.cells[h]; other == nil || s.kit.same(other.key(), key) {
			return other
		}
	}
}
