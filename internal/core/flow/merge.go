package flow

// Input is a collection, with the function that makes a value from each of its keys, for Merge.
type Input[K comparable, V any] interface {
	graph() *Graph
	feed(out *store[K, V]) feeder[K]
}

// feeder is one of the forms that feed a merged collection.
type feeder[K comparable] interface {
	form
	source() uint16
	has(k K) bool
	eachChanged(func(K))
}

// From is an Input: f makes at most one value from each key of in, as in Map.
func From[K comparable, A, V any](in *Collection[K, A], f func(c *Ctx, k K, a A) (V, bool)) Input[K, V] {
	return input[K, A, V]{storeOf(in), f}
}

// Renamed is From under other keys, as in Rename: to makes another one for each key, which no other input has, at no
// time.
func Renamed[K comparable, A any, P comparable, V any](
	in *Collection[K, A], to func(K) P, f func(c *Ctx, k K, a A) (V, bool),
) Input[P, V] {
	return renamedInput[K, A, P, V]{storeOf(in), to, f}
}

type renamedInput[K comparable, A any, P comparable, V any] struct {
	in *store[K, A]
	to func(K) P
	f  func(c *Ctx, k K, a A) (V, bool)
}

func (i renamedInput[K, A, P, V]) graph() *Graph { return i.in.g }

func (i renamedInput[K, A, P, V]) feed(out *store[P, V]) feeder[P] {
	return &renamedFeeder[K, A, P, V]{derived[K, A, P, V]{in: i.in, out: out, f: renamed(i.to, i.f)}}
}

// renamedFeeder does not know its keys before it has run; that nothing else has them is checked when they are written.
type renamedFeeder[K comparable, A any, P comparable, V any] struct{ derived[K, A, P, V] }

func (*renamedFeeder[K, A, P, V]) has(P) bool          { return false }
func (*renamedFeeder[K, A, P, V]) eachChanged(func(P)) {}

type input[K comparable, A, V any] struct {
	in *store[K, A]
	f  func(c *Ctx, k K, a A) (V, bool)
}

func (i input[K, A, V]) graph() *Graph { return i.in.g }

func (i input[K, A, V]) feed(out *store[K, V]) feeder[K] {
	return &feeding[K, A, V]{derived[K, A, K, V]{in: i.in, out: out, f: mapped(i.f), owner: func(k K) K { return k }}}
}

// Merge is Map for several collections, with one result. No key may be in two of them.
func Merge[K comparable, V any](name string, first Input[K, V], others ...Input[K, V]) *Collection[K, V] {
	m := &merged[K, V]{}
	out := newStore[K, V](first.graph(), name)
	for _, from := range append([]Input[K, V]{first}, others...) {
		m.feeders = append(m.feeders, from.feed(out))
	}
	m.name, out.form = name, m
	return &out.handle
}

// merged is the form of Merge.
type merged[K comparable, V any] struct {
	name    string
	feeders []feeder[K]
}

func (m *merged[K, V]) compute(t *turn) {
	for i, f := range m.feeders {
		f.eachChanged(func(k K) {
			for j, other := range m.feeders {
				if i != j && f.has(k) && other.has(k) {
					panic(misuse(m.name + " has two inputs with one key"))
				}
			}
		})
		f.compute(t)
	}
}

func (m *merged[K, V]) enqueue(r *run) {
	for _, f := range m.feeders {
		if f.source() == r.in.coll {
			f.enqueue(r)
		}
	}
}

func (m *merged[K, V]) fold() {
	for _, f := range m.feeders {
		f.fold()
	}
}

func (m *merged[K, V]) drop() {
	for _, f := range m.feeders {
		f.drop()
	}
}

func (m *merged[K, V]) runs(each func(d *runDump, outs []*node)) {
	for _, f := range m.feeders {
		f.runs(each)
	}
}

func (d *derived[K, A, P, B]) source() uint16 { return d.in.index }

// feeding is a feeder that has the keys of its collection.
type feeding[K comparable, A, V any] struct{ derived[K, A, K, V] }

func (d *feeding[K, A, V]) has(k K) bool {
	s := d.in.find(k)
	return s != nil && s.now() != nil
}

func (d *feeding[K, A, V]) eachChanged(each func(K)) {
	for _, s := range d.in.changed {
		each(s.key())
	}
}
