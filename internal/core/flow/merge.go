package flow

import "unsafe"

// Input is a collection, with the function that makes a value from each of its keys, for Merge.
type Input[K comparable, V any] interface {
	graph() *Graph
	newFeeder(out *store) feeder
	makes(K, V) // nothing calls it: it tells inputs of other types apart
}

// input is what an Input is.
type input[K comparable, V any] struct {
	g    *Graph
	form func(out *store) feeder
}

func (i *input[K, V]) graph() *Graph               { return i.g }
func (i *input[K, V]) newFeeder(out *store) feeder { return i.form(out) }
func (*input[K, V]) makes(K, V)                    {}

// feeder is one of the forms that feed a merged collection.
type feeder interface {
	form
	inputIndex() uint16
	has(key unsafe.Pointer) bool
	eachChanged(func(key unsafe.Pointer))
}

// From is an Input: f makes at most one value from each key of in, as in Map.
func From[K comparable, A, V any](in *Collection[K, A], f func(c *Ctx, k K, a A) (V, bool)) Input[K, V] {
	return newInput[K, V](in.store, transform(readCell[K, A], mapEmitter(f)))
}

func newInput[K comparable, V any](in *store, start func(*worker) func(*cell)) Input[K, V] {
	return &input[K, V]{in.g, func(out *store) feeder {
		return &feeding{derived{in: in, out: out, start: start, owns: sameKeys[K]}}
	}}
}

// FromRenamed is From under other keys, as in Rename: to makes another one for each key, which no other input has, at
// no time.
func FromRenamed[K comparable, A any, P comparable, V any](
	in *Collection[K, A], to func(K) P, f func(c *Ctx, k K, a A) (V, bool),
) Input[P, V] {
	start := transform(readCell[K, A], renameEmitter(to, f))
	return &input[P, V]{in.store.g, func(out *store) feeder {
		return &renamedFeeder{derived{in: in.store, out: out, start: start}}
	}}
}

// renamedFeeder does not know its keys before it has run; that nothing else has them is checked when they are written.
type renamedFeeder struct{ derived }

func (*renamedFeeder) has(unsafe.Pointer) bool          { return false }
func (*renamedFeeder) eachChanged(func(unsafe.Pointer)) {}

// Merge is Map for several collections, with one result. No key may be in two of them.
func Merge[K comparable, V any](name string, first Input[K, V], others ...Input[K, V]) *Collection[K, V] {
	m := &merged{name: name}
	out := newStore[K, V](first.graph(), name)
	for _, from := range append([]Input[K, V]{first}, others...) {
		m.feeders = append(m.feeders, from.newFeeder(out))
	}
	out.form = m
	return &Collection[K, V]{out}
}

// merged is the form of Merge.
type merged struct {
	name    string
	feeders []feeder
}

func (m *merged) computeKeys(t *turn) {
	for i, f := range m.feeders {
		f.eachChanged(func(key unsafe.Pointer) {
			for j, other := range m.feeders {
				if i != j && f.has(key) && other.has(key) {
					panic(misuse(m.name + " has two inputs with one key"))
				}
			}
		})
		f.computeKeys(t)
	}
}

func (m *merged) enqueueRun(r *run) {
	for _, f := range m.feeders {
		if f.inputIndex() == r.in.coll {
			f.enqueueRun(r)
		}
	}
}

func (m *merged) storeRuns() {
	for _, f := range m.feeders {
		f.storeRuns()
	}
}

func (m *merged) dropStaged() {
	for _, f := range m.feeders {
		f.dropStaged()
	}
}

func (m *merged) eachRun(each func(d *runDump, outs []*node)) {
	for _, f := range m.feeders {
		f.eachRun(each)
	}
}

func (d *derived) inputIndex() uint16 { return d.in.index }

// feeding is a feeder that has the keys of its collection.
type feeding struct{ derived }

func (d *feeding) has(key unsafe.Pointer) bool {
	s := d.in.slotAt(key)
	return s != nil && s.currentCell() != nil
}

func (d *feeding) eachChanged(each func(key unsafe.Pointer)) {
	for _, s := range d.in.changed {
		each(s.slotKey())
	}
}
