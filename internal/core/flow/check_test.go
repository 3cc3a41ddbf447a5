package flow_test

import (
	"errors"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
)

// checked runs a graph over a source of slices in check mode and returns the breach, or nil.
func checked(
	t *testing.T, build func(in, other *flow.Collection[int, []int]),
	then func(g *flow.Graph, in *flow.Collection[int, []int]),
) (breach *flow.CheckError) {
	t.Helper()
	g := flow.New(flow.Config{Check: true})
	s, o := flow.NewSource[int, []int](g, "in"), flow.NewSource[int, []int](g, "other")
	build(s.Collection(), o.Collection())
	defer func() {
		if x := recover(); x != nil {
			err, ok := x.(error)
			if !ok || !errors.As(err, &breach) {
				panic(x)
			}
		}
	}()
	edit := func(n int) {
		g.Apply("edit", func(b *flow.Batch) {
			s.Set(b, 1, []int{n, n})
			o.Set(b, 1, []int{n})
			s.MarkSynced(b)
			o.MarkSynced(b)
		})
		g.Settle()
	}
	edit(1)
	if then != nil {
		then(g, s.Collection())
	}
	edit(2)
	return nil
}

func TestCheckModeFindsBreaches(t *testing.T) {
	calls := 0
	var kept []int
	none := func(in, other *flow.Collection[int, []int]) {}
	for _, c := range []struct {
		name, collection string // where the breach is, "" if there is none
		build            func(in, other *flow.Collection[int, []int])
		then             func(g *flow.Graph, in *flow.Collection[int, []int])
	}{
		{"a pure transform", "", func(in, other *flow.Collection[int, []int]) {
			flow.Map(in, "bad", func(c *flow.Ctx, k int, v []int) ([]int, bool) {
				x, _ := flow.Fetch(c, other, k)
				return append([]int{len(x)}, v...), true
			})
		}, nil},
		{"a pure panic", "", func(in, other *flow.Collection[int, []int]) {
			flow.Map(in, "bad", func(c *flow.Ctx, k int, v []int) ([]int, bool) { panic("always") })
		}, nil},
		{"another value each time", "bad", func(in, other *flow.Collection[int, []int]) {
			flow.Map(in, "bad", func(c *flow.Ctx, k int, v []int) (int, bool) { calls++; return calls, true })
		}, nil},
		{"a key at times", "bad", func(in, other *flow.Collection[int, []int]) {
			flow.Map(in, "bad", func(c *flow.Ctx, k int, v []int) (int, bool) { calls++; return 0, calls%2 == 0 })
		}, nil},
		{"another key each time", "bad", func(in, other *flow.Collection[int, []int]) {
			flow.Derive(in, "bad", func(c *flow.Ctx, k int, v []int, emit func(part, int)) { calls++; emit(part{k, calls}, 0) })
		}, nil},
		{"a panic at times", "bad", func(in, other *flow.Collection[int, []int]) {
			flow.Map(in, "bad", func(c *flow.Ctx, k int, v []int) (int, bool) {
				if calls++; calls%2 == 0 {
					panic("now")
				}
				return 0, true
			})
		}, nil},
		{"a fetch at times", "bad", func(in, other *flow.Collection[int, []int]) {
			flow.Map(in, "bad", func(c *flow.Ctx, k int, v []int) (int, bool) {
				if calls++; calls%2 == 0 {
					flow.Fetch(c, other, k)
				}
				return 0, true
			})
		}, nil},
		{"another group each time", "bad", func(in, other *flow.Collection[int, []int]) {
			flow.Group(in, "bad", func(int, []int) []int { calls++; return []int{calls} }, func(int, []int) string { return "" })
		}, nil},
		{"a changed argument", "in", func(in, other *flow.Collection[int, []int]) {
			flow.Map(in, "bad", func(c *flow.Ctx, k int, v []int) (int, bool) { v[0] = 7; return 0, true })
		}, nil},
		{"a changed fetched value", "other", func(in, other *flow.Collection[int, []int]) {
			flow.Map(in, "bad", func(c *flow.Ctx, k int, v []int) (int, bool) {
				x, _ := flow.Fetch(c, other, k)
				x[0] = 7
				return 0, true
			})
		}, nil},
		{"a changed argument of a group", "in", func(in, other *flow.Collection[int, []int]) {
			flow.Group(in, "bad", func(k int, v []int) []int { v[1] = 7; return v[:1] }, func(int, []int) string { return "" })
		}, nil},
		{"a returned value changed later", "bad", func(in, other *flow.Collection[int, []int]) {
			flow.Map(in, "bad", func(c *flow.Ctx, k int, v []int) ([]int, bool) {
				x := []int{v[0]}
				if kept == nil {
					kept = x // of the first of two runs, which is the one that is stored
				}
				return x, true
			})
			flow.Map(in, "later", func(c *flow.Ctx, k int, v []int) (int, bool) { kept[0] = 7; return 0, true })
		}, nil},
		{"a reader that writes", "in", none, func(g *flow.Graph, in *flow.Collection[int, []int]) {
			g.View(func(v flow.View) {
				x, _ := flow.Get(v, in, 1)
				x[0] = 7
			})
		}},
		{"a reader that writes what comes next", "in", none, func(g *flow.Graph, in *flow.Collection[int, []int]) {
			g.View(func(v flow.View) {
				x, _ := flow.Get(v, in, 1)
				x[0], x[1] = 2, 2
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls, kept = 0, nil
			switch breach := checked(t, c.build, c.then); {
			case breach == nil && c.collection != "":
				t.Error("no breach found")
			case breach != nil && breach.Collection != c.collection:
				t.Errorf("found %v, want it in %q", breach, c.collection)
			case breach != nil && breach.Key != "1":
				t.Errorf("found %v, want it at key 1", breach)
			}
		})
	}
}

// A value that is changed in the turn that stores it is found in that turn, before anyone sees it.
func TestABreachIsFoundInItsTurn(t *testing.T) {
	g := flow.New(flow.Config{Check: true})
	s := flow.NewSource[int, []int](g, "in")
	flow.Map(s.Collection(), "bad", func(c *flow.Ctx, k int, v []int) (int, bool) { v[0] = 7; return 0, true })
	g.Apply("load", func(b *flow.Batch) { s.Set(b, 1, []int{1}); s.MarkSynced(b) })
	wantPanic(t, `collection "in", key 1|changed in place`, g.Settle)
	if rev := revOf(g); rev != 0 {
		t.Errorf("rev %d is visible", rev)
	}
}

// After a breach the graph stands where it stood, so a test that recovers can go on.
func TestABreachLeavesNothingStaged(t *testing.T) {
	g := flow.New(flow.Config{Check: true})
	s := flow.NewSource[int, int](g, "in")
	bad := true
	n := 0
	out := flow.Map(s.Collection(), "out", func(c *flow.Ctx, k, v int) (int, bool) {
		if n++; !bad {
			return v, true
		}
		return n, true
	})
	g.Apply("load", func(b *flow.Batch) { s.Set(b, 1, 1); s.MarkSynced(b) })
	wantPanic(t, "different values", g.Settle)
	g.View(func(v flow.View) {
		if v.Rev() != 0 || flow.Len(v, s.Collection()) != 0 {
			t.Error("something of the turn is visible")
		}
	})
	bad = false
	g.Apply("load", func(b *flow.Batch) { s.Set(b, 2, 5) })
	g.Settle()
	g.View(func(v flow.View) {
		if x, ok := flow.Get(v, out, 2); x != 5 || !ok || flow.Len(v, out) != 1 {
			t.Errorf("after the breach: %d, %t", x, ok)
		}
	})
}
