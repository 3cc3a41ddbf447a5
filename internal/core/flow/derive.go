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
	return newDerived[P, B](in.store, name, transform(readCell[K, A], f), ownsPart[K, P])
}

// Map makes at most one value from each key of in, under the same key. False means none.
func Map[K comparable, A, B any](
	in *Collection[K, A], name string, f func(c *Ctx, k K, a A) (B, bool),
) *Collection[K, B] {
	return newDerived[K, B](in.store, name, transform(readCell[K, A], mapEmitter(f)), sameKeys[K])
}

func mapEmitter[K comparable, A, B any](f func(c *Ctx, k K, a A) (B, bool)) func(*Ctx, K, A, func(K, B)) {
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
	return newDerived[P, B](in.store, name, transform(readCell[K, A], renameEmitter(to, f)), nil)
}

func renameEmitter[K comparable, A any, P comparable, B any](
	to func(K) P, f func(c *Ctx, k K, a A) (B, bool),
) func(*Ctx, K, A, func(P, B)) {
	return func(c *Ctx, k K, a A, emit func(P, B)) {
		if b, ok := f(c, k, a); ok {
			emit(to(k), b)
		}
	}
}

// transform makes the function by which a worker calls f with what read finds in a cell.
func transform[K comparable, A any, P comparable, B any](
	read func(*cell) (K, A), f func(*Ctx, K, A, func(P, B)),
) func(*worker) func(*cell) {
	return func(w *worker) func(*cell) {
		scratch := &typed[P, B]{} // most results are as before: a new cell is made only if not
		emit := func(p P, b B) {
			scratch.key, scratch.value = p, b
			w.emitCell(scratch.cell())
		}
		return func(in *cell) {
			k, a := read(in)
			f(&w.ctx, k, a, emit)
		}
	}
}

// derived is the form of Derive, Map and Rename.
type derived struct {
	in, out *store
	start   func(*worker) func(in *cell)
	owns    func(out, in unsafe.Pointer) bool // between keys; nil: keys don't tell, see alone

	dirty   []*derivedRun // those that read a changed key, then those with a changed input
	results []result      // of this turn, in the order of dirty
}

// derivedRun is the last run on one input key, and the slots that it filled.
type derivedRun struct {
	run
	one  *slot    // the first
	more *[]*slot // the others
}

// result is the result for one dirty key.
type result struct {
	run     *derivedRun
	isNew   bool // the run is not attached to its input yet
	gone    bool // the input was deleted
	fault   *Panic
	cells   []*cell
	deps    []*node
	newDeps bool
	newOuts bool
	outs    []*slot
}

func newDerived[P comparable, B any](
	in *store, name string, start func(*worker) func(*cell), owns func(out, in unsafe.Pointer) bool,
) *Collection[P, B] {
	out := newStore[P, B](in.g, name)
	out.form = &derived{in: in, out: out, start: start, owns: owns}
	return &Collection[P, B]{out}
}

func (d *derived) enqueueRun(r *run) {
	r.dirty = true
	d.dirty = append(d.dirty, (*derivedRun)(unsafe.Pointer(r)))
}

func (d *derived) computeKeys(t *turn) {
	for _, s := range d.in.changed {
		r := s.runFor(d.out.index)
		if r == nil {
			r = &(&derivedRun{run: run{in: &s.node, coll: d.out.index}}).run
		}
		if !r.dirty {
			d.enqueueRun(r)
		}
	}
	if len(d.dirty) == 0 {
		return
	}
	d.results = make([]result, len(d.dirty))
	runParallel(t.g.cfg.Workers, len(d.dirty), func() func(int) {
		w := newWorker(d)
		return func(i int) { d.results[i] = w.runKey(d.dirty[i]) }
	})
	for i := range d.results {
		r := &d.results[i]
		r.isNew = r.run.in.runFor(d.out.index) == nil
		d.stageResult(t, r)
	}
}

// stageResult stages the result of one run.
func (d *derived) stageResult(t *turn, r *result) {
	d.checkOwnKeys(r)
	n := &d.out.counters.working
	if !r.gone {
		n.Runs++
	}
	if r.fault != nil {
		n.Panics++
		t.recordFault(d.out.name, d.in.nodeKey(r.run.in), *r.fault)
		return // what it wrote before stays
	}
	if r.run.stale {
		t.recordRecovery(d.out.name, d.in.nodeKey(r.run.in))
	}
	was := r.run.outputSlots()
	same := len(was) == len(r.cells)
	for i, cell := range r.cells {
		s := d.out.stageValue(cell)
		same = same && was[i] == s
	}
	if same {
		r.cells = nil
		return
	}
	// Only this run writes these keys, so one that is not staged by now was not emitted.
	for _, s := range was {
		if !s.touched {
			d.out.stageCell(s, nil)
		}
	}
	r.newOuts = true
	r.outs = make([]*slot, len(r.cells))
	for i, cell := range r.cells {
		r.outs[i] = d.out.slotAt(cell.key())
	}
	r.cells = nil
}

// checkOwnKeys checks that no other input has a key that a run emits, where keys don't tell their inputs.
func (d *derived) checkOwnKeys(r *result) {
	if d.owns != nil || r.fault != nil {
		return
	}
	defer d.out.contain(d.in, slotOf(r.run.in).some(), &r.fault)
	was := r.run.outputSlots()
	for _, cell := range r.cells {
		if s := d.out.slotAt(cell.key()); s != nil && s.currentCell() != nil && !slices.Contains(was, s) {
			panic(misuse(fmt.Sprintf("%s emits %v, which another key has, too", d.out.name, d.out.kit.label(cell))))
		}
	}
}

func (d *derived) storeRuns() {
	for i := range d.results {
		r := &d.results[i]
		n := &d.out.counters.working
		wasStale := r.run.stale
		r.run.stale = r.fault != nil
		n.Stale += boolToInt(r.run.stale) - boolToInt(wasStale)
		if r.newDeps {
			n.Edges += len(r.deps) - int(r.run.ndeps)
			d.out.g.setDependencies(&r.run.run, r.deps)
		}
		if r.newOuts {
			r.run.setOuts(r.outs)
		}
		switch {
		case r.gone && !r.isNew:
			r.run.in.detachRun(&r.run.run)
		case r.isNew && !r.gone:
			r.run.in.attachRun(&r.run.run)
		}
	}
}

func (d *derived) dropStaged() {
	for _, r := range d.dirty {
		r.dirty = false
	}
	clear(d.dirty)
	d.dirty, d.results = keepSmall(d.dirty), nil
}

func (r *derivedRun) outputSlots() []*slot {
	switch {
	case r.one == nil:
		return nil
	case r.more == nil:
		return unsafe.Slice(&r.one, 1)
	}
	return append([]*slot{r.one}, *r.more...)
}

func (r *derivedRun) setOuts(outs []*slot) {
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
type worker struct {
	d       *derived
	ctx     Ctx
	call    func(in *cell)
	in      *cell
	emitted []*cell
	seen    *cellSet // when there are many
}

func newWorker(d *derived) *worker {
	w := &worker{d: d, ctx: Ctx{g: d.out.g, coll: d.out.index, name: d.out.name}}
	w.call = d.start(w)
	return w
}

// emitCell takes what a transform emits. The cell is the transform's: it is not kept.
func (w *worker) emitCell(c *cell) {
	if !w.ctx.live {
		panic(misuse("emit of " + w.ctx.name + " used after its transform returned"))
	}
	out := w.d.out
	if w.d.owns != nil && !w.d.owns(c.key(), w.in.key()) {
		panic(misuse(fmt.Sprintf("%s emits %v, which is owned by another key than %v", w.ctx.name, out.kit.label(c),
			w.d.in.kit.label(w.in))))
	}
	kept := out.committed(c)
	if kept == nil {
		kept = out.clone(c)
	}
	if w.isRepeated(kept) {
		panic(misuse(fmt.Sprintf("%s emits %v twice", w.ctx.name, out.kit.label(c))))
	}
	w.emitted = append(w.emitted, kept)
}

func (w *worker) isRepeated(c *cell) bool {
	const few = 8
	if len(w.emitted) < few {
		return slices.ContainsFunc(w.emitted, func(o *cell) bool { return w.d.out.same(o.key(), c.key()) })
	}
	if len(w.emitted) == few {
		w.seen = newCellSet(&w.d.out.kit, w.emitted)
	}
	return w.seen.add(c) != nil
}

// runKey runs one dirty key.
func (w *worker) runKey(r *derivedRun) result {
	res := result{run: r}
	in := slotOf(r.in).currentCell()
	if in == nil {
		res.gone, res.newDeps = true, r.ndeps > 0
		return res
	}
	res.fault = w.attempt(in)
	deps := w.ctx.endRun()
	if w.d.out.g.cfg.Check {
		w.checkAgain(in, &res, deps)
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

func (w *worker) attempt(in *cell) (fault *Panic) {
	w.in, w.emitted = in, w.emitted[:0]
	w.ctx.beginRun()
	defer w.d.out.contain(w.d.in, in, &fault)
	w.call(in)
	w.d.out.fail(w.d.in, in)
	return nil
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
