package flow_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/flow"
)

// panicOf is what f panics with, as text, or "".
func panicOf(f func()) (text string) {
	defer func() {
		if x := recover(); x != nil {
			text = fmt.Sprint(x)
		}
	}()
	f()
	return ""
}

func wantPanic(t *testing.T, words string, f func()) {
	t.Helper()
	text := panicOf(f)
	for word := range strings.SplitSeq(words, "|") {
		if !strings.Contains(text, word) {
			t.Errorf("panic %q does not say %q", text, word)
		}
	}
	if text == "" {
		t.Errorf("no panic, want %q", words)
	}
}

type message struct{ N int }

func (*message) ProtoReflect() {}

type holds[T any] struct {
	Fine  []int
	Inner struct{ Deep T }
}

type tree struct {
	Children []*tree
	ByName   map[string]tree
}

func makesSource[V any]() func() {
	return func() { flow.NewSource[int, V](flow.New(flow.Config{}), "s") }
}

func makesKey[K comparable]() func() {
	return func() { flow.NewSource[K, int](flow.New(flow.Config{}), "s") }
}

// TestMergeRefusesOneKeyOfTwo: it would be made from whichever came last.
func TestMergeRefusesOneKeyOfTwo(t *testing.T) {
	g := flow.New(flow.Config{})
	a, b := flow.NewSource[int, string](g, "a"), flow.NewSource[int, string](g, "b")
	same := func(_ *flow.Ctx, _ int, v string) (string, bool) { return v, true }
	flow.Merge("both", flow.From(a.Collection(), same), flow.From(b.Collection(), same))
	g.Apply("test", func(batch *flow.Batch) {
		a.Set(batch, 1, "a")
		b.Set(batch, 1, "b")
		a.MarkSynced(batch)
		b.MarkSynced(batch)
	})
	wantPanic(t, "both has two inputs with one key", g.Settle)
}

func TestConstructionRefusesWhatHasNoStructuralEquality(t *testing.T) {
	wantPanic(t, `collection "s"|Inner.Deep|is a func`, makesSource[holds[func()]]())
	wantPanic(t, "Inner.Deep|is a channel", makesSource[holds[chan int]]())
	wantPanic(t, "Inner.Deep|is an interface", makesSource[holds[any]]())
	wantPanic(t, "Inner.Deep|is an interface", makesSource[holds[error]]())
	wantPanic(t, "Inner.Deep|is a protobuf message", makesSource[holds[message]]())
	wantPanic(t, "Inner.Deep|is a protobuf message", makesSource[holds[*message]]())
	wantPanic(t, "is a protobuf message", makesSource[map[string][]*message]())
	wantPanic(t, "is an interface", makesSource[map[string]any]())
	wantPanic(t, "is a func", makesSource[*[2]func()]())
	wantPanic(t, "can't be a key", makesKey[*int]())
	wantPanic(t, "can't be a key", makesKey[any]())
	wantPanic(t, "can't be a key", makesKey[struct{ C chan int }]())

	for _, fine := range []func(){
		makesSource[holds[*time.Time]](), makesSource[tree](), makesSource[*tree](), makesSource[struct{}](),
		makesSource[flow.Members[int, holds[string]]](), makesKey[struct {
			A [2]string
			B float64
			_ bool
		}](),
	} {
		if text := panicOf(fine); text != "" {
			t.Error(text)
		}
	}
	wantPanic(t, "is a func", makesSource[flow.Members[int, func()]]())
}

func TestConstructionRefusesASecondName(t *testing.T) {
	g := flow.New(flow.Config{Name: "g"})
	s := flow.NewSource[int, int](g, "one")
	wantPanic(t, `"g"|two collections named "one"`, func() { flow.NewSource[string, string](g, "one") })
	wantPanic(t, "needs a name", func() { flow.NewSource[int, int](g, "") })
	g.Apply("load", s.MarkSynced)
	g.Settle()
	wantPanic(t, "after the first turn", func() { flow.NewSource[int, int](g, "two") })
}

// Each misuse surfaces where it is committed: as a contained panic of the transform, and as a failure in check mode.
func TestMisuseInATransform(t *testing.T) {
	for _, m := range []struct {
		name, want string
		build      func(g *flow.Graph, in *flow.Collection[int, int])
	}{
		{"fetch of a later collection", "bad fetches from later, which is not an earlier collection",
			func(g *flow.Graph, in *flow.Collection[int, int]) {
				var later *flow.Collection[int, int]
				flow.Map(in, "bad", func(c *flow.Ctx, k, v int) (int, bool) { return flow.Fetch(c, later, k) })
				later = flow.Map(in, "later", func(c *flow.Ctx, k, v int) (int, bool) { return v, true })
			}},
		{"fetch of itself", "not an earlier collection", func(g *flow.Graph, in *flow.Collection[int, int]) {
			var bad *flow.Collection[int, int]
			bad = flow.Map(in, "bad", func(c *flow.Ctx, k, v int) (int, bool) { return flow.Fetch(c, bad, k) })
		}},
		{"fetch from another graph", "another graph", func(g *flow.Graph, in *flow.Collection[int, int]) {
			other := flow.NewSource[int, int](flow.New(flow.Config{}), "other").Collection()
			flow.Map(in, "bad", func(c *flow.Ctx, k, v int) (int, bool) { return flow.Fetch(c, other, k) })
		}},
		{"a foreign key", "owned by another key", func(g *flow.Graph, in *flow.Collection[int, int]) {
			flow.Derive(in, "bad", func(c *flow.Ctx, k, v int, emit func(part, int)) { emit(part{k + 1, 0}, v) })
		}},
		{"a key twice", "emits {1 0} twice", func(g *flow.Graph, in *flow.Collection[int, int]) {
			flow.Derive(in, "bad", func(c *flow.Ctx, k, v int,
				emit func(part, int)) {
				emit(part{k, 0}, v)
				emit(part{k, 0}, v)
			})
		}},
		{"one of many keys twice", "emits {1 12} twice", func(g *flow.Graph, in *flow.Collection[int, int]) {
			flow.Derive(in, "bad", func(c *flow.Ctx, k, v int, emit func(part, int)) {
				for i := range 20 {
					emit(part{k, i}, v)
				}
				emit(part{k, 12}, v)
			})
		}},
		{"a kept Ctx", "Ctx of keeps used after its transform returned", func(g *flow.Graph, in *flow.Collection[int, int]) {
			var kept *flow.Ctx
			flow.Map(in, "keeps", func(c *flow.Ctx, k, v int) (int, bool) { kept = c; return v, true })
			flow.Map(in, "bad", func(c *flow.Ctx, k, v int) (int, bool) { return flow.Fetch(kept, in, k) })
		}},
	} {
		t.Run(m.name, func(t *testing.T) {
			for _, check := range []bool{false, true} {
				g := flow.New(flow.Config{Check: check})
				s := flow.NewSource[int, int](g, "in")
				m.build(g, s.Collection())
				g.Apply("load", func(b *flow.Batch) { s.Set(b, 1, 1); s.MarkSynced(b) })
				if check {
					wantPanic(t, `flow: check: collection "bad", key 1|`+m.want, g.Settle)
					continue
				}
				g.Settle()
				g.View(func(v flow.View) {
					p, _ := flow.Get(v, g.Panics(), flow.PanicKey{Collection: "bad", Key: "1"})
					if !strings.Contains(p.Message, m.want) {
						t.Errorf("contained %q, want %q", p.Message, m.want)
					}
				})
			}
		})
	}
}

// TestRenameToOneKey: two inputs under one key are a misuse of the one that comes later, in the same turn and in
// another one; the first one's value stays, and what one lets go is free.
func TestRenameToOneKey(t *testing.T) {
	g := flow.New(flow.Config{})
	s := flow.NewSource[int, int](g, "in")
	out := flow.Rename(s.Collection(), "out", func(k int) int { return k % 10 },
		func(_ *flow.Ctx, _, v int) (int, bool) { return v, v > 0 })
	for _, step := range []struct {
		name       string
		edit       func(b *flow.Batch)
		want, seen int
	}{
		{"one", func(b *flow.Batch) { s.Set(b, 1, 5); s.MarkSynced(b) }, 5, 0},
		{"another one in a later turn", func(b *flow.Batch) { s.Set(b, 11, 6) }, 5, 1},
		{"the first changes", func(b *flow.Batch) { s.Set(b, 1, 7) }, 7, 1},
		{"the first has no value", func(b *flow.Batch) { s.Set(b, 1, 0) }, 0, 1},
		{"the other one takes it", func(b *flow.Batch) { s.Set(b, 11, 8) }, 8, 0},
		{"two more in one turn", func(b *flow.Batch) { s.Delete(b, 11); s.Set(b, 2, 2); s.Set(b, 12, 3) }, 0, 1},
	} {
		g.Apply(step.name, step.edit)
		g.Settle()
		g.View(func(v flow.View) {
			if got, _ := flow.Get(v, out, 1); got != step.want {
				t.Errorf("%s: got %d, want %d", step.name, got, step.want)
			}
			if n := flow.Len(v, g.Panics()); n != step.seen {
				t.Errorf("%s: %d panics, want %d", step.name, n, step.seen)
			}
		})
	}
	checked := flow.New(flow.Config{Check: true})
	one, two := flow.NewSource[int, int](checked, "one"), flow.NewSource[int, int](checked, "two")
	same := func(_ *flow.Ctx, _, v int) (int, bool) { return v, true }
	other := flow.FromRenamed(two.Collection(), func(int) int { return 1 }, same)
	flow.Merge("merged", flow.From(one.Collection(), same), other)
	checked.Apply("load", func(b *flow.Batch) { one.Set(b, 1, 1); two.Set(b, 2, 2); one.MarkSynced(b); two.MarkSynced(b) })
	wantPanic(t, "merged emits 1, which another key has, too", checked.Settle)
	checked = flow.New(flow.Config{Check: true})
	both := flow.NewSource[int, int](checked, "in")
	flow.Rename(both.Collection(), "out", func(int) int { return 1 },
		func(_ *flow.Ctx, _, v int) (int, bool) { return v, true })
	checked.Apply("load", func(b *flow.Batch) { both.Set(b, 1, 1); both.Set(b, 2, 2); both.MarkSynced(b) })
	wantPanic(t, "out emits 1, which another key has, too", checked.Settle)
}

// What is not contained reaches the caller from workers, too, and from a transform that ends its goroutine.
func TestMisuseAmongManyKeys(t *testing.T) {
	for _, m := range []struct {
		want string
		f    func(c *flow.Ctx, k, v int, emit func(part, int))
	}{
		{"owned by another key", func(c *flow.Ctx, k, v int, emit func(part, int)) { emit(part{k + k/400, 0}, v) }},
		{"ended its goroutine", func(c *flow.Ctx, k, v int, emit func(part, int)) {
			if k == 400 {
				runtime.Goexit()
			}
		}},
	} {
		g := flow.New(flow.Config{Check: true, Workers: 4})
		s := flow.NewSource[int, int](g, "in")
		flow.Derive(s.Collection(), "bad", m.f)
		g.Apply("load", func(b *flow.Batch) {
			for k := range 500 {
				s.Set(b, k, k)
			}
			s.MarkSynced(b)
		})
		wantPanic(t, m.want, g.Settle)
	}
}

func TestMisuseOfBatchesAndViews(t *testing.T) {
	g, other := flow.New(flow.Config{}), flow.New(flow.Config{})
	s := flow.NewSource[int, int](g, "s")
	var kept *flow.Batch
	g.Apply("load", func(b *flow.Batch) { kept = b; s.MarkSynced(b) })
	wantPanic(t, "after its Apply returned", func() { s.Set(kept, 1, 1) })
	wantPanic(t, "another graph", func() { other.Apply("load", func(b *flow.Batch) { s.Set(b, 1, 1) }) })
	g.Settle()
	var view flow.View
	g.View(func(v flow.View) { view = v })
	wantPanic(t, "after its function returned", func() { flow.Get(view, s.Collection(), 1) })
	wantPanic(t, "zero View", func() { flow.Len(flow.View{}, s.Collection()) })
	other.View(func(v flow.View) { wantPanic(t, "another graph", func() { flow.Get(v, s.Collection(), 1) }) })

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- g.Run(ctx) }()
	g.Apply("edit", func(b *flow.Batch) { s.Set(b, 1, 1) })
	for rev := range g.Watch(ctx) {
		if rev == 1 {
			continue // Run may not have begun
		}
		if err := g.Run(ctx); !errors.Is(err, flow.ErrRunning) { // it answers at once, as the other one runs
			t.Errorf("second Run: %v", err)
		}
		break
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
