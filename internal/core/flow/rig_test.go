package flow_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"cardea.dev/cardea/internal/core/flow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A rig is a small graph that stresses one form of collection, or how forms meet. Its sources are tables of small
// numbers, so random edits collide often. Every rig runs through the same suite.
type rig struct {
	name  string
	build func(w *world)
}

// world is one graph built from a rig.
type world struct {
	g       *flow.Graph
	sources []*flow.Source[int, row]
	all     []toJSON
}

// row is what sources hold: a few numbers that transforms use as references, names of groups and contents.
type row struct {
	A, B, C int
	List    []int
}

func randomRow(r *rand.Rand, keys int) row {
	v := row{A: r.IntN(keys), B: r.IntN(4), C: r.IntN(3)}
	for range r.IntN(4) {
		v.List = append(v.List, r.IntN(6))
	}
	return v
}

// toJSON reads one collection, and follows its changes into a copy of its own.
type toJSON struct {
	name   string
	text   func(v flow.View) string
	follow func(v flow.View) string
}

func (w *world) source(name string) *flow.Collection[int, row] {
	s := flow.NewSource[int, row](w.g, name)
	w.sources = append(w.sources, s)
	return show(w, name, s.Collection())
}

func show[K comparable, V any](w *world, name string, c *flow.Collection[K, V]) *flow.Collection[K, V] {
	copied, follower := map[K]string{}, flow.Follow(c)
	w.all = append(w.all, toJSON{
		name: name,
		text: func(v flow.View) string {
			var lines []string
			for k, x := range flow.All(v, c) {
				lines = append(lines, fmt.Sprintf("%v: %s", k, describe(x)))
			}
			if len(lines) != flow.Len(v, c) {
				lines = append(lines, fmt.Sprintf("Len says %d", flow.Len(v, c)))
			}
			return sorted(lines)
		},
		follow: func(v flow.View) string {
			for ch := range follower.Changes(v) {
				if ch.Deleted {
					delete(copied, ch.Key)
				} else {
					copied[ch.Key] = describe(ch.Value)
				}
				if at := flow.ChangedAt(v, c, ch.Key); (at == 0) != ch.Deleted {
					return fmt.Sprintf("%v changed at %d, deleted %t", ch.Key, at, ch.Deleted)
				}
			}
			var lines []string
			for k, x := range copied {
				lines = append(lines, fmt.Sprintf("%v: %s", k, x))
			}
			return sorted(lines)
		},
	})
	return c
}

func sorted(lines []string) string {
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// describe writes groups out in their order, which is part of what must be right.
func describe(x any) string {
	m, ok := x.(flow.Members[int, row])
	if !ok {
		return fmt.Sprintf("%+v", x)
	}
	var b strings.Builder
	for k, r := range m.All() {
		fmt.Fprintf(&b, "[%d %+v]", k, r)
	}
	return b.String()
}

func (w *world) text(v flow.View) string {
	var b strings.Builder
	for _, s := range w.all {
		fmt.Fprintf(&b, "%s\n%s\n", s.name, s.text(v))
	}
	return b.String()
}

func newWorld(r rig, cfg flow.Config) *world {
	w := &world{g: flow.New(cfg)}
	r.build(w)
	return w
}

// part is a derived key with an owner.
type part struct{ Key, N int }

func (p part) Owner() int { return p.Key }

// kept holds a group inside a value.
type kept struct{ M flow.Members[int, row] }

func (k kept) String() string { return describe(k.M) }

type pair struct{ X, Y string }

// total sums what a group holds, so that a wrong group shows as a wrong number.
func total(m flow.Members[int, row]) int {
	n := 0
	for k, r := range m.All() {
		n = 31*n + k + r.A + r.B + r.C
	}
	return n
}

func byContent(k int, r row) string { return fmt.Sprint(r.C) } // many ties, so keys decide

var rigs = []rig{
	{"source", func(w *world) { w.source("rows") }},

	{"map", func(w *world) {
		in := w.source("rows")
		show(w, "mapped", flow.Map(in, "mapped", func(_ *flow.Ctx, k int, r row) (int, bool) { return r.A % 3, r.B > 0 }))
	}},

	{"merge", func(w *world) {
		odd, even, targets := w.source("odd"), w.source("even"), w.source("targets")
		// Keys of two collections must differ.
		side := func(name string, in *flow.Collection[int, row], n int) *flow.Collection[part, row] {
			return flow.Derive(in, name, func(_ *flow.Ctx, k int, r row, emit func(part, row)) {
				if r.C > 0 {
					emit(part{k, n}, r)
				}
			})
		}
		merged := show(w, "merged", flow.Merge("merged",
			flow.From(side("odds", odd, 1), func(c *flow.Ctx, _ part, r row) (row, bool) {
				t, _ := flow.Fetch(c, targets, r.A)
				return t, r.B > 0
			}),
			flow.From(side("evens", even, 2), func(_ *flow.Ctx, _ part, r row) (row, bool) { return r, r.B > 1 }),
			flow.FromRenamed(targets, func(k int) part { return part{k, 3} }, func(c *flow.Ctx, _ int, r row) (row, bool) {
				t, _ := flow.Fetch(c, odd, r.A)
				return t, r.B > 0
			})))
		groups := flow.Group(merged, "groups", func(_ part, r row) []int { return r.List },
			func(part, row) string { return "" })
		show(w, "sizes", flow.Map(groups, "sizes",
			func(_ *flow.Ctx, _ int, m flow.Members[part, row]) (int, bool) { return m.Len(), true }))
	}},

	{"projections", func(w *world) {
		odd, even, targets := w.source("odd"), w.source("even"), w.source("targets")
		lists := flow.Project(odd, func(k int, r row) []int { return append([]int{k}, r.List...) })
		numbers := flow.Map(even, "numbers", func(_ *flow.Ctx, _ int, r row) (int, bool) { return r.A, r.B > 1 })
		ones := flow.Project(numbers, func(_ int, n int) []int { return []int{n} })
		for i, of := range []flow.Projection[int, []int]{lists, ones} {
			name := []string{"lists", "ones"}[i]
			show(w, "of "+name, flow.Merge("of "+name, flow.FromProjected(of,
				func(c *flow.Ctx, k int, list []int) (row, bool) {
					t, _ := flow.Fetch(c, targets, len(list))
					return row{A: k, B: t.A, List: list}, len(list) > 0
				})))
			show(w, "parts of "+name, flow.DeriveProjected(of, "parts of "+name,
				func(_ *flow.Ctx, k int, list []int, emit func(part, int)) { emit(part{k, len(list)}, list[0]) }))
		}
		show(w, "fetched", flow.Map(targets, "fetched", func(c *flow.Ctx, _ int, r row) (row, bool) {
			list, found := flow.FetchProjected(c, lists, r.A)
			one, _ := flow.FetchProjected(c, ones, r.B)
			return row{List: append(list, one...)}, found
		}))
	}},

	{"derive", func(w *world) {
		in := w.source("rows")
		parts := show(w, "parts", flow.Derive(in, "parts", func(_ *flow.Ctx, k int, r row, emit func(part, int)) {
			seen := map[int]bool{}
			for _, n := range r.List {
				if !seen[n] {
					seen[n] = true
					emit(part{k, n}, r.C)
				}
			}
		}))
		show(w, "again", flow.Map(parts, "again",
			func(_ *flow.Ctx, p part, c int) (string, bool) { return fmt.Sprint(p.N, c), c != 1 }))
	}},

	{"many parts", func(w *world) {
		in := w.source("rows")
		show(w, "parts", flow.Derive(in, "parts", func(_ *flow.Ctx, k int, r row, emit func(part, []int)) {
			for n := range r.A % 20 {
				emit(part{k, n * (1 + r.B)}, r.List)
			}
		}))
	}},

	{"group", func(w *world) {
		in := w.source("rows")
		show(w, "by list", flow.Group(in, "by list", func(_ int, r row) []int { return r.List }, byContent))
		show(w, "by one", flow.Group(in, "by one", func(_ int, r row) []string { return []string{fmt.Sprint(r.B)} },
			byContent))
	}},

	{"map of group", func(w *world) {
		in := w.source("rows")
		groups := show(w, "groups", flow.Group(in, "groups", func(_ int, r row) []int { return []int{r.B} }, byContent))
		show(w, "totals", flow.Map(groups, "totals",
			func(_ *flow.Ctx, g int, m flow.Members[int, row]) (int, bool) { return total(m), true }))
		show(w, "kept", flow.Map(groups, "kept",
			func(_ *flow.Ctx, g int, m flow.Members[int, row]) (kept, bool) { return kept{m}, m.Len() > 1 }))
	}},

	{"fetch", func(w *world) {
		targets := w.source("targets")
		in := w.source("rows")
		show(w, "resolved", flow.Map(in, "resolved", func(c *flow.Ctx, k int, r row) (pair, bool) {
			t, ok := flow.Fetch(c, targets, r.A) // often absent
			if !ok {
				return pair{"absent", fmt.Sprint(r.A)}, r.C != 0 // a run that gives nothing has dependencies, too
			}
			u, ok := flow.Fetch(c, targets, t.A) // depends on what the first one said
			return pair{fmt.Sprint(t.B), fmt.Sprint(u.C, ok)}, true
		}))
	}},

	{"fetch group", func(w *world) {
		targets := w.source("targets")
		groups := show(w, "index", flow.Group(targets, "index", func(_ int, r row) []int { return r.List }, byContent))
		in := w.source("rows")
		show(w, "joined", flow.Derive(in, "joined", func(c *flow.Ctx, k int, r row, emit func(part, int)) {
			for n := range 6 {
				if r.B == n%4 {
					if m, ok := flow.Fetch(c, groups, n); ok {
						emit(part{k, n}, total(m))
					}
				}
			}
		}))
	}},

	{"fetch derived", func(w *world) {
		targets := w.source("targets")
		parts := flow.Derive(targets, "target parts", func(_ *flow.Ctx, k int, r row, emit func(part, int)) {
			for n := range r.B {
				emit(part{k, n}, r.C)
			}
		})
		in := w.source("rows")
		show(w, "sums", flow.Map(in, "sums", func(c *flow.Ctx, k int, r row) (int, bool) {
			sum := 0
			for n := range 4 {
				x, ok := flow.Fetch(c, parts, part{r.A, n})
				if !ok {
					break
				}
				sum = sum*10 + x + 1
			}
			return sum, true
		}))
	}},

	{"diamond", func(w *world) {
		in := w.source("rows")
		left := show(w, "left", flow.Map(in, "left", func(_ *flow.Ctx, k int, r row) (int, bool) { return r.B, true }))
		right := show(w, "right", flow.Map(in, "right",
			func(_ *flow.Ctx, k int, r row) (int, bool) { return -r.B, r.C != 2 }))
		show(w, "bottom", flow.Map(left, "bottom", func(c *flow.Ctx, k int, l int) (string, bool) {
			r, ok := flow.Fetch(c, right, k)
			if ok && l+r != 0 {
				panic(fmt.Sprintf("glitch: %d and %d", l, r))
			}
			return fmt.Sprint(l, r, ok), true
		}))
	}},

	{"chain", func(w *world) {
		c := w.source("rows")
		for i := range 6 {
			c = show(w, fmt.Sprint("link", i), flow.Map(c, fmt.Sprint("link", i), func(_ *flow.Ctx, k int, r row) (row, bool) {
				r.A = (r.A + i) % 5
				return r, r.A+r.B != i
			}))
		}
		show(w, "end", flow.Group(c, "end", func(_ int, r row) []int { return []int{r.A, r.B} }, byContent))
	}},

	{"hot key", func(w *world) {
		hot := w.source("hot")
		in := w.source("rows")
		show(w, "readers", flow.Map(in, "readers", func(c *flow.Ctx, k int, r row) (int, bool) {
			h, _ := flow.Fetch(c, hot, r.B/3) // key 0 by most
			return h.C + r.C, true
		}))
	}},

	{"panics", func(w *world) {
		in := w.source("rows")
		// What these two keep after a panic is history, which a rebuild doesn't know. So only the panics are compared.
		flow.Map(in, "fragile", func(_ *flow.Ctx, k int, r row) (int, bool) {
			if r.B == 3 {
				panic("three")
			}
			return 0, true
		})
		flow.Group(in, "groups", func(_ int, r row) []int {
			if r.C == 2 {
				panic("two")
			}
			return nil
		}, byContent)
		show(w, "panics", w.g.Panics())
	}},
}

func eachRig(t *testing.T, test func(t *testing.T, r rig)) {
	for _, r := range rigs {
		t.Run(r.name, func(t *testing.T) { t.Parallel(); test(t, r) })
	}
}

// synced starts a world with empty sources.
func (w *world) synced() {
	w.g.Apply("start", func(b *flow.Batch) {
		for _, s := range w.sources {
			s.MarkSynced(b)
		}
	})
	w.g.Settle()
}
