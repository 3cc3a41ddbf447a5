package flow

import (
	"fmt"
	"slices"
	"unsafe"
)

// Part is a derived key that names the input key it was made from. Emitting checks that no two inputs emit one key.
type Part[O comparable] interface {
	comparable
	Owner() O
}

// Derive makes any number of keys from each key of in. A key that f emitted last time and doesn't emit now is deleted.
func Derive[K comparable, A any, P Part[K], B any](
	in *Collection[K, A], name string, f func(c *Ctx, k K, a A, emit func(P, B)),
) *Collection[P, B] {
	return newDerived(in, name, f, func(p P) K { return p.Owner() })
}

// Map makes at most one value from each key of in, under the same key. False means none.
func Map[K comparable, A, B any](
	in *Collection[K, A], name string, f func(c *Ctx, k K, a A) (B, bool),
) *Collection[K, B] {
	return newDerived(in, name, mapped(f), func(k K) K { return k })
}

func mapped[K comparable, A, B any](f func(c *Ctx, k K, a A) (B, bool)) func(*Ctx, K, A, func(K, B)) {
	return func(c *Ctx, k K, a A, emit func(K, B)) {
		if b, ok := f(c, k, a); ok {
			emit(k, b)
		}
	}
}

// Rename is Map under other keys, which to makes, another one for each key. Writing a key checks that no two inputs
// have it.
func Rename[K comparable, A any, P comparable, B any](
	in *Collection[K, A], name string, to func(K) P, f func(c *Ctx, k K, a A) (B, bool),
) *Collection[P, B] {
	return newDerived(in, name, renamed(to, f), nil)
}

func renamed[K comparable, A any, P comparable, B any](
	to func(K) P, f func(c *Ctx, k K, a A) (B, bool),
) func(*Ctx, K, A, func(P, B)) {
	return func(c *Ctx, k K, a A, emit func(P, B)) {
		if b, ok := f(c, k, a); ok {
			emit(to(k), b)
		}
	}
}

// derived is the form of Derive, Map and Rename.
type derived[K comparable, A any, P comparable, B any] struct {
	in    *store[K, A]
	out   *store[P, B]
	f     func(*Ctx, K, A, func(P, B))
	owner func(P) K // nil: keys don't tell, see alone

	dirty   []*derivedRun[P, B] // those that read a changed key, then those with a changed input
	results []result[P, B]      // of this turn, in the order of dirty
}

// derivedRun is the last run on one input key, and the slots that it filled.
type derivedRun[P comparable, B any] struct {
	run
	one  *slot[P, B]    // the first
	more *[]*slot[P, B] // the others
}

// result is the result for one dirty key.
type result[P comparable, B any] struct {
	run     *derivedRun[P, B]
	isNew   bool // the run is not attached to its input yet
	gone    bool // the input was deleted
	fault   *Panic
	cells   []*cell[P, B]
	deps    []*node
	newDeps bool
	newOuts bool
	outs    []*slot[P, B]
}

func newDerived[K comparable, A any, P comparable, B any](
	in *Collection[K, A], name string, f func(*Ctx, K, A, func(P, B)), owner func(P) K,
) *Collection[P, B] {
	d := &derived[K, A, P, B]{in: storeOf(in), f: f, owner: owner}
	d.out = newStore[P, B](d.in.g, name)
	d.out.form = d
	return &d.out.handle
}

func (d *derived[K, A, P, B]) enqueue(r *run) {
	r.dirty = true
	d.dirty = append(d.dirty, (*derivedRun[P, B])(unsafe.Pointer(r)))
}

func (d *derived[K, A, P, B]) compute(t *turn) {
	for _, s := range d.in.changed {
		r := s.runFor(d.out.index)
		if r == nil {
			r = &(&derivedRun[P, B]{run: run{in: &s.node, coll: d.out.index}}).run
		}
		if !r.dirty {
			d.enqueue(r)
		}
	}
	if len(d.dirty) == 0 {
		return
	}
	d.results = make([]result[P, B], len(d.dirty))
	spread(t.g.cfg.Workers, len(d.dirty), func() func(int) {
		w := newWorker(d)
		return func(i int) { d.results[i] = w.visit(d.dirty[i]) }
	})
	for i := range d.results {
		r := &d.results[i]
		r.isNew = r.run.in.runFor(d.out.index) == nil
		d.stageResult(t, r)
	}
}

// stageResult stages the result of one run.
func (d *derived[K, A, P, B]) stageResult(t *turn, r *result[P, B]) {
	d.alone(r)
	n := &d.out.counters.now
	if !r.gone {
		n.Runs++
	}
	if r.fault != nil {
		n.Panics++
		t.fault(d.out.name, slotOf[K, A](r.run.in).now().key, *r.fault)
		return // what it wrote before stays
	}
	if r.run.stale {
		t.recovered(d.out.name, slotOf[K, A](r.run.in).key())
	}
	was := r.run.outs()
	same := len(was) == len(r.cells)
	for i, cell := range r.cells {
		s := d.out.write(cell)
		same = same && was[i] == s
	}
	if same {
		r.cells = nil
		return
	}
	// Only this run writes these keys, so one that is not staged by now was not emitted.
	for _, s := range was {
		if !s.touched {
			d.out.stage(s, nil)
		}
	}
	r.newOuts = true
	r.outs = make([]*slot[P, B], len(r.cells))
	for i, cell := range r.cells {
		r.outs[i] = d.out.find(cell.key)
	}
	r.cells = nil
}

// alone checks that no other input has a key that a run emits, where keys don't tell their inputs.
func (d *derived[K, A, P, B]) alone(r *result[P, B]) {
	if d.owner != nil || r.fault != nil {
		return
	}
	key := slotOf[K, A](r.run.in).key()
	defer contain(d.out.g, d.out.name, key, &r.fault)
	was := r.run.outs()
	for _, cell := range r.cells {
		if s := d.out.find(cell.key); s != nil && s.now() != nil && !slices.Contains(was, s) {
			panic(misuse(fmt.Sprintf("%s emits %v, which another key has, too", d.out.name, cell.key)))
		}
	}
}

func (d *derived[K, A, P, B]) fold() {
	for i := range d.results {
		r := &d.results[i]
		n := &d.out.counters.now
		wasStale := r.run.stale
		r.run.stale = r.fault != nil
		n.Stale += btoi(r.run.stale) - btoi(wasStale)
		if r.newDeps {
			n.Edges += len(r.deps) - int(r.run.ndeps)
			d.out.g.depend(&r.run.run, r.deps)
		}
		if r.newOuts {
			r.run.setOuts(r.outs)
		}
		switch {
		case r.gone && !r.isNew:
			r.run.in.detach(&r.run.run)
		case r.isNew && !r.gone:
			r.run.in.attach(&r.run.run)
		}
	}
}

func (d *derived[K, A, P, B]) drop() {
	for _, r := range d.dirty {
		r.dirty = false
	}
	clear(d.dirty)
	d.dirty, d.results = keepSmall(d.dirty), nil
}

func (r *derivedRun[P, B]) outs() []*slot[P, B] {
	switch {
	case r.one == nil:
		return nil
	case r.more == nil:
		return unsafe.Slice(&r.one, 1)
	}
	return append([]*slot[P, B]{r.one}, *r.more...)
}

func (r *derivedRun[P, B]) setOuts(outs []*slot[P, B]) {
	r.one, r.more = nil, nil
	if len(outs) > 0 {
		r.one = outs[0]
	}
	if len(outs) > 1 {
		more := slices.Clone(outs[1:])
		r.more = &more
	}
}

// worker runs transforms of one collection in one goroutine.
type worker[K comparable, A any, P comparable, B any] struct {
	d       *derived[K, A, P, B]
	ctx     Ctx
	key     K
	emitted []*cell[P, B]
	seen    map[P]struct{} // when there are many
	emit    func(P, B)
}

func newWorker[K comparable, A any, P comparable, B any](d *derived[K, A, P, B]) *worker[K, A, P, B] {
	w := &worker[K, A, P, B]{d: d, ctx: Ctx{g: d.out.g, coll: d.out.index, name: d.out.name}}
	w.emit = w.take
	return w
}

func (w *worker[K, A, P, B]) take(p P, b B) {
	if !w.ctx.live {
		panic(misuse("emit of " + w.ctx.name + " used after its transform returned"))
	}
	if w.d.owner != nil && w.d.owner(p) != w.key {
		panic(misuse(fmt.Sprintf("%s emits %v, which is owned by another key than %v", w.ctx.name, p, w.key)))
	}
	if w.repeated(p) {
		panic(misuse(fmt.Sprintf("%s emits %v twice", w.ctx.name, p)))
	}
	w.emitted = append(w.emitted, w.d.out.cellFor(p, b))
}

func (w *worker[K, A, P, B]) repeated(p P) bool {
	const few = 8
	if len(w.emitted) < few {
		return slices.ContainsFunc(w.emitted, func(c *cell[P, B]) bool { return c.key == p })
	}
	if len(w.emitted) == few {
		w.seen = make(map[P]struct{}, 2*few)
		for _, c := range w.emitted {
			w.seen[c.key] = struct{}{}
		}
	}
	_, ok := w.seen[p]
	w.seen[p] = struct{}{}
	return ok
}

// visit runs one dirty key.
func (w *worker[K, A, P, B]) visit(r *derivedRun[P, B]) result[P, B] {
	res := result[P, B]{run: r}
	in := slotOf[K, A](r.in).now()
	if in == nil {
		res.gone, res.newDeps = true, r.ndeps > 0
		return res
	}
	res.fault = w.attempt(in)
	deps := w.ctx.end()
	if w.d.out.g.cfg.Check {
		w.again(in, &res, deps)
		deps = w.ctx.deps
	}
	if !slices.Equal(deps, r.dependencies()) {
		res.newDeps, res.deps = true, slices.Clone(deps)
	}
	if res.fault == nil && len(w.emitted) > 0 {
		res.cells = slices.Clone(w.emitted)
	}
	return res
}

func (w *worker[K, A, P, B]) attempt(in *cell[K, A]) (fault *Panic) {
	w.key, w.emitted = in.key, w.emitted[:0]
	w.ctx.begin()
	defer contain(w.d.out.g, w.d.out.name, in.key, &fault)
	w.d.f(&w.ctx, in.key, in.value, w.emit)
	w.d.out.g.fail(w.d.out.name, in.key)
	return nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
