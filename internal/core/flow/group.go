package flow

import (
	"cmp"
	"slices"
	"strings"
	"unsafe"
)

// Group inverts a collection: each key of in is a member of the groups that of returns (there may be none), sorted by
// order within each. A group without members doesn't exist. Both functions are pure, like every transform, but can't
// fetch: use Map first to put what they need into the value.
func Group[K comparable, A any, G comparable](
	in *Collection[K, A], name string, of func(K, A) []G, order func(K, A) string,
) *Collection[G, Members[K, A]] {
	out := newStore[G, Members[K, A]](in.store.g, name)
	out.form = &grouped{in: in.store, out: out,
		of: func(in *cell) (keys, string) {
			at := typedOf[K, A](in)
			return keysOf(of(at.key, at.value)), order(at.key, at.value)
		},
		make: func(name unsafe.Pointer, list []*member) *cell {
			return (&typed[G, Members[K, A]]{*(*G)(name), Members[K, A]{list}}).cell()
		},
	}
	return &Collection[G, Members[K, A]]{out}
}

// ByKey leaves the order within a group to the keys of its members.
func ByKey[K comparable, A any](K, A) string { return "" }

// keys are keys of a collection, one after the other in memory.
type keys struct {
	first unsafe.Pointer
	n     int
}

func keysOf[K comparable](list []K) keys {
	return keys{unsafe.Pointer(unsafe.SliceData(list)), len(list)}
}

// at is the key at i, of a kind whose size the kit knows.
func (l keys) at(i int, of *kit) unsafe.Pointer { return unsafe.Add(l.first, uintptr(i)*of.size) }

// grouped is the form of Group.
type grouped struct {
	in, out *store
	of      func(in *cell) (names keys, order string)
	make    func(name unsafe.Pointer, list []*member) *cell

	placed []groupResult // the runs of this turn
}

// groupRun is the groups that one input key is a member of.
type groupRun struct {
	run
	member *member
	groups []*slot
}

// groupResult is the result for one changed input key.
type groupResult struct {
	run    *groupRun
	isNew  bool
	fault  *Panic
	member *member // nil if the input was deleted
	names  []unsafe.Pointer
	groups []*slot
}

// groupEdit is the members that leave and enter one group in a turn.
type groupEdit struct {
	slot         *slot
	leave, enter []*member
}

// groupEdits are all groups that a turn changes, in the order in which they were found.
type groupEdits struct {
	of   map[*slot]*groupEdit
	list []*groupEdit
}

func (e *groupEdits) ensureEdit(s *slot) *groupEdit {
	r := e.of[s]
	if r == nil {
		r = &groupEdit{slot: s}
		e.of[s] = r
		e.list = append(e.list, r)
	}
	return r
}

func (f *grouped) enqueueRun(*run) {} // groups fetch nothing

func (f *grouped) computeKeys(t *turn) {
	changed := f.in.changed
	if len(changed) == 0 {
		return
	}
	f.placed = make([]groupResult, len(changed))
	runParallel(t.g.cfg.Workers, len(changed), func() func(int) {
		return func(i int) { f.placed[i] = f.runKey(changed[i]) }
	})
	edits := &groupEdits{of: map[*slot]*groupEdit{}}
	for i := range f.placed {
		f.collectEdits(t, changed[i], &f.placed[i], edits)
	}
	for _, e := range edits.list {
		if list := f.mergeMembers(e); len(list) > 0 {
			f.out.stageCell(e.slot, f.make(e.slot.slotKey(), list))
		} else {
			f.out.stageCell(e.slot, nil)
		}
	}
}

// collectEdits notes which groups one key leaves and enters.
func (f *grouped) collectEdits(t *turn, in *slot, p *groupResult, edits *groupEdits) {
	n := &f.out.counters.working
	if p.member != nil || p.fault != nil {
		n.Runs++
	}
	if p.fault != nil {
		n.Panics++
		t.recordFault(f.out.name, f.in.nodeKey(&in.node), *p.fault)
		return // it stays in its groups, with the value that it had
	}
	if p.run.stale {
		t.recordRecovery(f.out.name, f.in.nodeKey(&in.node))
	}
	for _, s := range p.run.groups {
		e := edits.ensureEdit(s)
		e.leave = append(e.leave, p.run.member)
	}
	for _, name := range p.names {
		s := f.out.ensureSlot(name)
		p.groups = append(p.groups, s)
		e := edits.ensureEdit(s)
		e.enter = append(e.enter, p.member)
	}
}

// mergeMembers copies a group without the members that leave, and with those that enter.
func (f *grouped) mergeMembers(e *groupEdit) []*member {
	var old []*member
	if was := e.slot.committedCell(); was != nil {
		old = listAt(f.out.value(was))
	}
	slices.SortFunc(e.leave, f.compareMembers)
	slices.SortFunc(e.enter, f.compareMembers)
	list := make([]*member, 0, len(old)-len(e.leave)+len(e.enter))
	for len(e.leave)+len(e.enter) > 0 {
		leaves := len(e.enter) == 0 || len(e.leave) > 0 && f.compareMembers(e.leave[0], e.enter[0]) <= 0
		from := &e.enter
		if leaves {
			from = &e.leave
		}
		x := (*from)[0]
		*from = (*from)[1:]
		i, _ := slices.BinarySearchFunc(old, x, f.compareMembers)
		list = append(list, old[:i]...)
		old = old[i:]
		if leaves {
			old = old[1:]
		} else {
			list = append(list, x)
		}
	}
	return append(list, old...)
}

// compareMembers has a total order within a group: a key is in it once.
func (f *grouped) compareMembers(a, b *member) int {
	return cmp.Or(strings.Compare(a.order, b.order), f.in.order(a.cell.key(), b.cell.key()))
}

func (f *grouped) runKey(s *slot) groupResult {
	var p groupResult
	if r := s.runFor(f.out.index); r != nil {
		p.run = (*groupRun)(unsafe.Pointer(r))
	} else {
		p.isNew = true
		p.run = &groupRun{run: run{in: &s.node, coll: f.out.index}}
	}
	in := s.currentCell()
	if in == nil {
		return p
	}
	var order string
	p.names, order, p.fault = f.attempt(in)
	if f.out.g.cfg.Check {
		f.checkAgain(in, &p, order)
	}
	if p.fault == nil {
		p.member = &member{cell: in, order: order}
	}
	return p
}

func (f *grouped) attempt(in *cell) (names []unsafe.Pointer, order string, fault *Panic) {
	defer f.out.contain(f.in, in, &fault)
	list, order := f.of(in)
	names = f.distinct(list)
	f.out.fail(f.in, in)
	return names, order, nil
}

func (f *grouped) checkAgain(in *cell, first *groupResult, order string) {
	names, order2, fault := f.attempt(in)
	if (fault == nil) != (first.fault == nil) || fault == nil && (order != order2 ||
		!slices.EqualFunc(names, first.names, f.out.same)) {
		panic(&CheckError{Collection: f.out.name, Key: keyText(f.in.kit.label(in)),
			Reason: "two runs on the same input named different groups or orders"})
	}
}

// distinct is names with each name once.
func (f *grouped) distinct(list keys) []unsafe.Pointer {
	once := make([]unsafe.Pointer, 0, list.n)
	var seen *cellSet
	if list.n > 1 {
		seen = newCellSet(&f.out.kit, nil)
	}
	for i := range list.n {
		name := list.at(i, &f.out.kit)
		// A set reads no more of a cell than its key.
		if seen == nil || seen.add((*cell)(name)) == nil {
			once = append(once, name)
		}
	}
	return once
}

func (f *grouped) storeRuns() {
	n := &f.out.counters.working
	for i := range f.placed {
		p := &f.placed[i]
		n.Stale += boolToInt(p.fault != nil) - boolToInt(p.run.stale)
		p.run.stale = p.fault != nil
		if p.fault == nil {
			p.run.member, p.run.groups = p.member, slices.Clip(p.groups)
		}
		gone := p.member == nil && p.fault == nil
		switch {
		case gone && !p.isNew:
			p.run.in.detachRun(&p.run.run)
		case p.isNew && !gone:
			p.run.in.attachRun(&p.run.run)
		}
	}
}

func (f *grouped) dropStaged() { f.placed = nil }
