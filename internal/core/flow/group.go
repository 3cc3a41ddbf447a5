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
	f := &grouped[K, A, G]{in: storeOf(in), of: of, order: order}
	f.out = newStore[G, Members[K, A]](f.in.g, name)
	f.out.form = f
	return &f.out.handle
}

// ByKey leaves the order within a group to the keys of its members.
func ByKey[K comparable, A any](K, A) string { return "" }

// grouped is the form of Group.
type grouped[K comparable, A any, G comparable] struct {
	in    *store[K, A]
	out   *store[G, Members[K, A]]
	of    func(K, A) []G
	order func(K, A) string

	placed []placed[K, A, G] // the runs of this turn
}

// groupRun is the groups that one input key is a member of.
type groupRun[K comparable, A any, G comparable] struct {
	run
	member *member[K, A]
	groups []*slot[G, Members[K, A]]
}

// placed is the result for one changed input key.
type placed[K comparable, A any, G comparable] struct {
	run    *groupRun[K, A, G]
	isNew  bool
	fault  *Panic
	member *member[K, A] // nil if the input was deleted
	names  []G
	groups []*slot[G, Members[K, A]]
}

// regroup is the members that leave and enter one group in a turn.
type regroup[K comparable, A any, G comparable] struct {
	slot         *slot[G, Members[K, A]]
	name         G
	leave, enter []*member[K, A]
}

// regroups are all groups that a turn changes, in the order in which they were found.
type regroups[K comparable, A any, G comparable] struct {
	of   map[*slot[G, Members[K, A]]]*regroup[K, A, G]
	list []*regroup[K, A, G]
}

func (e *regroups[K, A, G]) at(s *slot[G, Members[K, A]], name G) *regroup[K, A, G] {
	r := e.of[s]
	if r == nil {
		r = &regroup[K, A, G]{slot: s, name: name}
		e.of[s] = r
		e.list = append(e.list, r)
	}
	return r
}

func (f *grouped[K, A, G]) enqueue(*run) {} // groups fetch nothing

func (f *grouped[K, A, G]) compute(t *turn) {
	changed := f.in.changed
	if len(changed) == 0 {
		return
	}
	f.placed = make([]placed[K, A, G], len(changed))
	spread(t.g.cfg.Workers, len(changed), func() func(int) {
		return func(i int) { f.placed[i] = f.visit(changed[i]) }
	})
	edits := &regroups[K, A, G]{of: map[*slot[G, Members[K, A]]]*regroup[K, A, G]{}}
	for i := range f.placed {
		f.collect(t, changed[i], &f.placed[i], edits)
	}
	for _, e := range edits.list {
		if list := f.merge(e); len(list) > 0 {
			f.out.stage(e.slot, &cell[G, Members[K, A]]{key: e.name, value: Members[K, A]{list}})
		} else {
			f.out.stage(e.slot, nil)
		}
	}
}

// collect notes which groups one key leaves and enters.
func (f *grouped[K, A, G]) collect(t *turn, in *slot[K, A], p *placed[K, A, G], edits *regroups[K, A, G]) {
	n := &f.out.counters.now
	if p.member != nil || p.fault != nil {
		n.Runs++
	}
	if p.fault != nil {
		n.Panics++
		t.fault(f.out.name, in.now().key, *p.fault)
		return // it stays in its groups, with the value that it had
	}
	if p.run.stale {
		t.recovered(f.out.name, in.key())
	}
	for _, s := range p.run.groups {
		e := edits.at(s, s.cell.key)
		e.leave = append(e.leave, p.run.member)
	}
	for _, name := range p.names {
		s := f.out.place(name)
		p.groups = append(p.groups, s)
		e := edits.at(s, name)
		e.enter = append(e.enter, p.member)
	}
}

// merge copies a group without the members that leave, and with those that enter.
func (f *grouped[K, A, G]) merge(e *regroup[K, A, G]) []*member[K, A] {
	var old []*member[K, A]
	if was := e.slot.was(); was != nil {
		old = was.value.list
	}
	slices.SortFunc(e.leave, f.compare)
	slices.SortFunc(e.enter, f.compare)
	list := make([]*member[K, A], 0, len(old)-len(e.leave)+len(e.enter))
	for len(e.leave)+len(e.enter) > 0 {
		leaves := len(e.enter) == 0 || len(e.leave) > 0 && f.compare(e.leave[0], e.enter[0]) <= 0
		from := &e.enter
		if leaves {
			from = &e.leave
		}
		x := (*from)[0]
		*from = (*from)[1:]
		i, _ := slices.BinarySearchFunc(old, x, f.compare)
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

// compare has a total order within a group: a key is in it once.
func (f *grouped[K, A, G]) compare(a, b *member[K, A]) int {
	return cmp.Or(strings.Compare(a.order, b.order), f.in.order(unsafe.Pointer(&a.cell.key), unsafe.Pointer(&b.cell.key)))
}

func (f *grouped[K, A, G]) visit(s *slot[K, A]) placed[K, A, G] {
	var p placed[K, A, G]
	if r := s.runFor(f.out.index); r != nil {
		p.run = (*groupRun[K, A, G])(unsafe.Pointer(r))
	} else {
		p.isNew = true
		p.run = &groupRun[K, A, G]{run: run{in: &s.node, coll: f.out.index}}
	}
	in := s.now()
	if in == nil {
		return p
	}
	var order string
	p.names, order, p.fault = f.attempt(in)
	if f.out.g.cfg.Check {
		f.again(in, &p, order)
	}
	if p.fault == nil {
		p.member = &member[K, A]{cell: in, order: order}
	}
	return p
}

func (f *grouped[K, A, G]) attempt(in *cell[K, A]) (names []G, order string, fault *Panic) {
	defer contain(f.out.g, f.out.name, in.key, &fault)
	names, order = distinct(f.of(in.key, in.value)), f.order(in.key, in.value)
	f.out.g.fail(f.out.name, in.key)
	return names, order, nil
}

func (f *grouped[K, A, G]) again(in *cell[K, A], first *placed[K, A, G], order string) {
	names, order2, fault := f.attempt(in)
	if (fault == nil) != (first.fault == nil) || fault == nil && (order != order2 || !slices.Equal(names, first.names)) {
		panic(&CheckError{Collection: f.out.name, Key: keyText(in.key),
			Reason: "two runs on the same input named different groups or orders"})
	}
}

// distinct is names with each name once. It does not change names, which may belong to a value.
func distinct[G comparable](names []G) []G {
	if len(names) < 2 {
		return names
	}
	seen := make(map[G]bool, len(names))
	once := make([]G, 0, len(names))
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			once = append(once, name)
		}
	}
	return once
}

func (f *grouped[K, A, G]) fold() {
	n := &f.out.counters.now
	for i := range f.placed {
		p := &f.placed[i]
		n.Stale += btoi(p.fault != nil) - btoi(p.run.stale)
		p.run.stale = p.fault != nil
		if p.fault == nil {
			p.run.member, p.run.groups = p.member, slices.Clip(p.groups)
		}
		gone := p.member == nil && p.fault == nil
		switch {
		case gone && !p.isNew:
			p.run.in.detach(&p.run.run)
		case p.isNew && !gone:
			p.run.in.attach(&p.run.run)
		}
	}
}

func (f *grouped[K, A, G]) drop() { f.placed = nil }
