package flow_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/flow"
)

type numbers = flow.Source[int, int]

func get[K comparable, V any](g *flow.Graph, c *flow.Collection[K, V], k K) (x V, ok bool) {
	g.View(func(v flow.View) { x, ok = flow.Get(v, c, k) })
	return x, ok
}

func revOf(g *flow.Graph) (rev flow.Rev) {
	g.View(func(v flow.View) { rev = v.Rev() })
	return rev
}

func TestTheFirstTurnWaitsForEverySource(t *testing.T) {
	g := flow.New(flow.Config{Check: true})
	a, b := flow.NewSource[int, int](g, "a"), flow.NewSource[int, int](g, "b")
	runs := 0
	flow.Map(a.Collection(), "m", func(*flow.Ctx, int, int) (int, bool) { runs++; return 0, true })
	for i := range 3 {
		g.Apply("load", func(batch *flow.Batch) {
			a.Set(batch, i, i)
			a.MarkSynced(batch)
		})
		g.Settle()
	}
	if n, ok := get(g, a.Collection(), 1); ok || revOf(g) != 0 || runs != 0 || len(g.Turns()) != 0 {
		t.Errorf("before b is synced: %d, %t, rev %d, %d runs", n, ok, revOf(g), runs)
	}
	if err := g.Try(func(*flow.Batch) {}, func(flow.View) { t.Error("read called") }); err != flow.ErrNotSynced {
		t.Errorf("Try says %v", err)
	}
	g.Apply("sync", b.MarkSynced)
	g.Settle()
	if n, ok := get(g, a.Collection(), 2); n != 2 || !ok || revOf(g) != 1 {
		t.Errorf("after it: %d, %t, rev %d", n, ok, revOf(g))
	}
	turns := g.Turns()
	if len(turns) != 1 || turns[0].Edits != 3 || turns[0].Rev != 1 || turns[0].Runs != 3 || turns[0].Changes != 6 ||
		!slices.Equal(turns[0].Causes, []string{"load", "sync"}) {
		t.Errorf("turns %+v", turns)
	}
}

func TestAGraphWithoutSourcesTurnsOnce(t *testing.T) {
	g := flow.New(flow.Config{})
	g.Settle()
	g.Settle()
	if revOf(g) != 1 || len(g.Turns()) != 1 {
		t.Errorf("rev %d, %d turns", revOf(g), len(g.Turns()))
	}
}

// A small graph: routes name a backend, hosts group them, and a summary per host reads the group.
type small struct {
	g        *flow.Graph
	routes   *flow.Source[string, [2]string] // host, backend
	backends *flow.Source[string, *int]
	resolved *flow.Collection[string, *int]
	hosts    *flow.Collection[string, flow.Members[string, [2]string]]
	summary  *flow.Collection[string, string]
}

func newSmall() *small {
	s := &small{g: flow.New(flow.Config{Check: true})}
	s.routes = flow.NewSource[string, [2]string](s.g, "routes")
	s.backends = flow.NewSource[string, *int](s.g, "backends")
	s.resolved = flow.Map(s.routes.Collection(), "resolved", func(c *flow.Ctx, k string, r [2]string) (*int, bool) {
		return flow.Fetch(c, s.backends.Collection(), r[1])
	})
	s.hosts = flow.Group(s.routes.Collection(), "hosts",
		func(k string, r [2]string) []string { return []string{r[0], r[0]} },
		func(k string, r [2]string) string { return k })
	s.summary = flow.Map(s.hosts, "summary",
		func(c *flow.Ctx, h string, m flow.Members[string, [2]string]) (string, bool) {
			text := ""
			for k := range m.All() {
				x, _ := flow.Fetch(c, s.resolved, k)
				if x == nil {
					text += k + "=none "
				} else {
					text += fmt.Sprintf("%s=%d ", k, *x)
				}
			}
			return text, true
		})
	s.apply(func(b *flow.Batch) {
		for i, k := range []string{"r1", "r2", "r3"} {
			s.routes.Set(b, k, [2]string{"h", "b" + k[1:]})
			s.backends.Set(b, "b"+k[1:], new(i))
		}
		s.routes.MarkSynced(b)
		s.backends.MarkSynced(b)
	})
	return s
}

func (s *small) apply(edit func(*flow.Batch)) flow.Turn {
	s.g.Apply("edit", edit)
	s.g.Settle()
	turns := s.g.Turns()
	return turns[len(turns)-1]
}

func work(t flow.Turn) string {
	text := ""
	for _, c := range t.Collections {
		text += fmt.Sprintf("%s %d/%d, ", c.Name, c.Runs, c.Changes)
	}
	return text
}

// A turn runs what an edit touches and nothing else. The record says runs/changes of each collection.
func TestATurnRunsOnlyWhatIsTouched(t *testing.T) {
	s := newSmall()
	inner, _ := get(s.g, s.resolved, "r1")
	for _, step := range []struct {
		name, work, h string // h is the summary after it
		edit          func(*flow.Batch)
	}{
		{"the same value", "", "r1=0 r2=1 r3=2 ", func(b *flow.Batch) { s.backends.Set(b, "b1", new(0)) }},
		{"there and back in one turn", "", "r1=0 r2=1 r3=2 ", func(b *flow.Batch) {
			s.backends.Set(b, "b1", new(9))
			s.backends.Set(b, "b1", new(0))
			s.backends.Set(b, "new", new(9))
			s.backends.Delete(b, "new")
			s.backends.Delete(b, "unknown")
		}},
		{"one backend", "backends 0/1, resolved 1/1, summary 1/1, ", "r1=0 r2=7 r3=2 ",
			func(b *flow.Batch) { s.backends.Set(b, "b2", new(7)) }},
		{"a backend nobody names", "backends 0/1, ", "r1=0 r2=7 r3=2 ",
			func(b *flow.Batch) { s.backends.Set(b, "b9", new(9)) }},
		{"a backend goes", "backends 0/1, resolved 1/1, summary 1/1, ", "r1=0 r2=7 r3=none ",
			func(b *flow.Batch) { s.backends.Delete(b, "b3") }},
		{"and comes back", "backends 0/1, resolved 1/1, summary 1/1, ", "r1=0 r2=7 r3=3 ",
			func(b *flow.Batch) { s.backends.Set(b, "b3", new(3)) }},
		{"a route moves, in one step", "routes 0/1, resolved 1/0, hosts 1/2, summary 2/2, ", "r1=0 r3=3 ",
			func(b *flow.Batch) {
				s.routes.Set(b, "r2", [2]string{"other", "b2"})
			}},
		{"the last one leaves a host", "routes 0/1, resolved 0/1, hosts 0/1, summary 0/1, ", "r1=0 r3=3 ",
			func(b *flow.Batch) { s.routes.Delete(b, "r2") }},
		{"what it named no longer matters", "backends 0/1, ", "r1=0 r3=3 ",
			func(b *flow.Batch) { s.backends.Set(b, "b2", new(8)) }},
	} {
		before := revOf(s.g)
		turn := s.apply(step.edit)
		if got := work(turn); got != step.work {
			t.Errorf("%s: %q, want %q", step.name, got, step.work)
		}
		if grown := revOf(s.g) - before; grown != 0 != (step.work != "") || grown > 1 || turn.Rev != revOf(s.g) {
			t.Errorf("%s: rev grew by %d to %d, the record says %d", step.name, grown, revOf(s.g), turn.Rev)
		}
		if h, _ := get(s.g, s.summary, "h"); h != step.h {
			t.Errorf("%s: summary %q, want %q", step.name, h, step.h)
		}
	}
	if now, _ := get(s.g, s.resolved, "r1"); now != inner {
		t.Error("an equal value replaced the one that was there")
	}
}

func TestTheRecordIsARing(t *testing.T) {
	g := flow.New(flow.Config{})
	s := flow.NewSource[int, int](g, "s")
	g.Apply("load", s.MarkSynced)
	for i := range 2500 {
		g.Apply(fmt.Sprint(i), func(b *flow.Batch) { s.Set(b, 0, i) })
		g.Settle()
	}
	turns := g.Turns()
	if len(turns) != 1000 || turns[0].Causes[0] != "1500" || turns[999].Causes[0] != "2499" {
		t.Errorf("%d turns from %v to %v", len(turns), turns[0].Causes, turns[len(turns)-1].Causes)
	}
	for _, want := range turns {
		if turn, known := g.TurnOf(want.Rev); !known || turn.Causes[0] != want.Causes[0] {
			t.Fatalf("turn of revision %d: %+v, %t, want %+v", want.Rev, turn, known, want)
		}
	}
	for _, rev := range []flow.Rev{0, turns[0].Rev - 1, turns[999].Rev + 1} {
		if turn, known := g.TurnOf(rev); known {
			t.Errorf("revision %d has the turn %+v", rev, turn)
		}
	}
}

// What is applied while a turn runs waits for the next one, and Apply doesn't wait for either.
func TestApplyDoesNotWaitForATurn(t *testing.T) {
	g := flow.New(flow.Config{})
	s := flow.NewSource[int, int](g, "s")
	began, goOn := make(chan bool), make(chan bool)
	out := flow.Map(s.Collection(), "out", func(_ *flow.Ctx, k, v int) (int, bool) {
		if k == 1 {
			began <- true
			<-goOn
		}
		return v, true
	})
	g.Apply("load", func(b *flow.Batch) { s.Set(b, 1, 1); s.MarkSynced(b) })
	done := make(chan bool)
	go func() { g.Settle(); done <- true }()
	<-began
	g.Apply("more", func(b *flow.Batch) { s.Set(b, 2, 2) })
	g.Apply("and more", func(b *flow.Batch) { s.Set(b, 3, 3) })
	if _, ok := get(g, out, 2); ok {
		t.Error("visible already")
	}
	goOn <- true
	<-done
	if turns := g.Turns(); len(turns) != 2 || turns[1].Edits != 2 || fmt.Sprint(turns[1].Causes) != "[more and more]" {
		t.Errorf("turns %+v", turns)
	}
	if x, _ := get(g, out, 3); x != 3 {
		t.Errorf("out of 3 is %d", x)
	}
}

// A turn tells when the oldest of what it took was queued.
func TestATurnTellsHowLongItsEditsWaited(t *testing.T) {
	var now time.Time
	g := flow.New(flow.Config{Check: true, Now: func() time.Time { return now }})
	names := flow.NewSource[string, string](g, "names")
	at := func(second int) { now = time.Unix(int64(second), 0) }
	set := func(v string) { g.Apply("test", func(b *flow.Batch) { names.Set(b, "a", v); names.MarkSynced(b) }) }
	for _, c := range []struct{ first, second, turn int }{{1, 3, 6}, {10, 12, 17}} {
		at(c.first)
		set(fmt.Sprint(c.first))
		at(c.second)
		set(fmt.Sprint(c.second))
		at(c.turn)
		g.Settle()
		turns := g.Turns()
		if last := turns[len(turns)-1]; last.Queued.Unix() != int64(c.first) || last.At.Unix() != int64(c.turn) {
			t.Errorf("queued %s, begun %s, want %d and %d", last.Queued, last.At, c.first, c.turn)
		}
	}
}
