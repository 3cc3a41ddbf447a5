package flow_test

import (
	"bytes"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
)

// fragile is a source, one that it fetches from, and a transform that panics on 13.
type fragile struct {
	g         *flow.Graph
	in, other *flow.Source[int, int]
	out       *flow.Collection[int, int]
	groups    *flow.Collection[int, flow.Members[int, int]]
}

func newFragile(t *testing.T) *fragile {
	f := &fragile{g: flow.New(flow.Config{Check: true})}
	f.in, f.other = flow.NewSource[int, int](f.g, "in"), flow.NewSource[int, int](f.g, "other")
	f.out = flow.Map(f.in.Collection(), "out", func(c *flow.Ctx, k, v int) (int, bool) {
		x, _ := flow.Fetch(c, f.other.Collection(), v)
		if x == 13 || v == 13 {
			panic("thirteen")
		}
		return v + x, true
	})
	f.groups = flow.Group(f.in.Collection(), "groups", func(k, v int) []int { return []int{v} }, func(k, v int) string {
		if v == 13 {
			panic("no order")
		}
		return ""
	})
	f.apply(func(b *flow.Batch) {
		f.in.Set(b, 1, 2)
		f.in.MarkSynced(b)
		f.other.MarkSynced(b)
	})
	return f
}

func (f *fragile) apply(edit func(*flow.Batch)) {
	f.g.Apply("edit", edit)
	f.g.Settle()
}

func (f *fragile) expect(t *testing.T, when string, value int, present bool, stale, panics int) {
	t.Helper()
	f.g.View(func(v flow.View) {
		if x, ok := flow.Get(v, f.out, 1); x != value || ok != present {
			t.Errorf("%s: out is %d, %t, want %d, %t", when, x, ok, value, present)
		}
		if n := flow.Len(v, f.g.Panics()); n != panics {
			t.Errorf("%s: %d panics, want %d", when, n, panics)
		}
	})
	n := 0
	for _, s := range f.g.Stats() {
		n += s.Stale
	}
	if n != stale {
		t.Errorf("%s: %d stale, want %d", when, n, stale)
	}
}

func TestAPanicKeepsTheValueUntilADependencyChanges(t *testing.T) {
	f := newFragile(t)
	f.expect(t, "at first", 2, true, 0, 0)

	f.apply(func(b *flow.Batch) { f.other.Set(b, 2, 13) })
	f.expect(t, "after a fetched value made it panic", 2, true, 1, 1)
	f.g.View(func(v flow.View) {
		p, ok := flow.Get(v, f.g.Panics(), flow.PanicKey{Collection: "out", Key: "1"})
		if !ok || p.Message != "thirteen" || !strings.Contains(p.Stack, "panics_test.go") ||
			strings.Contains(p.Stack, "derive.go") {
			t.Errorf("%t %+v", ok, p)
		}
		if at := flow.ChangedAt(v, f.g.Panics(), flow.PanicKey{Collection: "out", Key: "1"}); at != v.Rev() {
			t.Errorf("the panic is of rev %d, want a turn of its own, %d", at, v.Rev())
		}
	})
	var dump bytes.Buffer
	if err := f.g.Dump(&dump, "out"); err != nil || !strings.Contains(dump.String(), `"stale": true`) {
		t.Errorf("the dump does not mark it: %v %s", err, dump.String())
	}

	f.apply(func(b *flow.Batch) { f.other.Set(b, 2, 5) })
	f.expect(t, "after that changed", 7, true, 0, 0)

	f.apply(func(b *flow.Batch) { f.in.Set(b, 1, 13) })
	f.expect(t, "after the input made it panic, and its group", 7, true, 2, 2)
	f.g.View(func(v flow.View) {
		if m, ok := flow.Get(v, f.groups, 2); !ok || m.Len() != 1 {
			t.Error("the member left its group in a run that panicked")
		}
	})

	f.apply(func(b *flow.Batch) { f.in.Set(b, 1, 3) })
	f.expect(t, "after the input changed", 3, true, 0, 0)
	f.g.View(func(v flow.View) {
		if _, ok := flow.Get(v, f.groups, 2); ok || flow.Len(v, f.groups) != 1 {
			t.Error("the member did not move to its new group")
		}
	})

	f.apply(func(b *flow.Batch) { f.in.Set(b, 1, 13) })
	f.apply(func(b *flow.Batch) { f.in.Delete(b, 1) })
	f.expect(t, "after the key was deleted", 0, false, 0, 0)
	f.g.View(func(v flow.View) {
		if flow.Len(v, f.groups) != 0 {
			t.Error("a group outlives its last member")
		}
	})

	f.apply(func(b *flow.Batch) { f.in.Set(b, 1, 13) })
	f.expect(t, "after a first run that panicked", 0, false, 2, 2)
	panics := uint64(0)
	for _, s := range f.g.Stats() {
		panics += s.Panics
	}
	if panics != 7 {
		t.Errorf("%d panics counted, want 7", panics)
	}
}

func TestAPanicInATryIsItsError(t *testing.T) {
	f := newFragile(t)
	err := f.g.Try(func(b *flow.Batch) { f.in.Set(b, 1, 13) }, func(v flow.View) {
		if x, _ := flow.Get(v, f.out, 1); x != 2 {
			t.Errorf("the Try shows %d, want the kept 2", x)
		}
	})
	if err == nil || !strings.Contains(err.Error(), "2 transforms panicked, first 1 of out: thirteen") {
		t.Errorf("err is %v", err)
	}
	f.g.Settle()
	f.expect(t, "after the Try", 2, true, 0, 0)
	f.apply(func(b *flow.Batch) { f.other.Set(b, 99, 0) })
	for _, s := range f.g.Stats() {
		if s.Panics != 0 || s.Runs > 1 {
			t.Errorf("the Try is counted: %+v", s)
		}
	}
}
