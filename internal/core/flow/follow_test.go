package flow_test

import (
	"fmt"
	"iter"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
)

func told(changes iter.Seq[flow.Change[int, int]]) string {
	lines := []string{}
	for ch := range changes {
		if ch.Deleted {
			lines = append(lines, fmt.Sprintf("-%d", ch.Key))
		} else {
			lines = append(lines, fmt.Sprintf("%d=%d", ch.Key, ch.Value))
		}
	}
	return sorted(lines)
}

func TestFollower(t *testing.T) {
	g := flow.New(flow.Config{Check: true})
	s := flow.NewSource[int, int](g, "s")
	c := s.Collection()
	eager, lazy := flow.Follow(c), flow.Follow(c)
	ask := func(f *flow.Follower[int, int]) (text string) {
		g.View(func(v flow.View) { text = told(f.Changes(v)) })
		return text
	}
	for i, step := range []struct {
		edit func(*flow.Batch)
		want string
	}{
		{func(b *flow.Batch) { s.MarkSynced(b); s.Set(b, 1, 1); s.Set(b, 2, 1) }, "1=1\n2=1"},
		{func(b *flow.Batch) { s.Set(b, 2, 2); s.Set(b, 3, 2) }, "2=2\n3=2"},
		{func(b *flow.Batch) { s.Delete(b, 1); s.Set(b, 2, 2) }, "-1"}, // the second one is no change
		{func(b *flow.Batch) { s.Delete(b, 3); s.Set(b, 4, 4) }, "-3\n4=4"},
		{func(b *flow.Batch) { s.Set(b, 1, 5); s.Set(b, 9, 9); s.Delete(b, 9) }, "1=5"}, // one comes back, one comes and goes
	} {
		g.Apply("edit", step.edit)
		g.Settle()
		if got := ask(eager); got != step.want {
			t.Errorf("step %d: told\n%s\nwant\n%s", i, got, step.want)
		}
		if got := ask(eager); got != "" {
			t.Errorf("step %d: told again: %s", i, got)
		}
		if i == 1 {
			ask(lazy)
		}
	}
	if got := ask(lazy); got != "-3\n1=5\n4=4" {
		t.Errorf("who lags is told\n%s", got)
	}
	if got := ask(flow.Follow(c)); got != "1=5\n2=2\n4=4" {
		t.Errorf("who comes late is told\n%s", got)
	}

	g.Apply("edit", func(b *flow.Batch) { s.Set(b, 1, 6); s.Set(b, 2, 6) })
	g.Settle()
	g.View(func(v flow.View) {
		for ch := range eager.Changes(v) {
			if ch.Key == 1 {
				break
			}
		}
	})
	if got := ask(eager); got != "2=6" {
		t.Errorf("after a loop that ended early: told\n%s", got)
	}
	lazy.Stop()
	g.Apply("edit", func(b *flow.Batch) { s.Set(b, 7, 7) })
	g.Settle()
	if got := ask(lazy); got != "1=6\n2=6" {
		t.Errorf("after Stop: told\n%s", got)
	}
}

func TestStaged(t *testing.T) {
	g := flow.New(flow.Config{Check: true})
	s := flow.NewSource[int, int](g, "s")
	c := s.Collection()
	g.Apply("load", func(b *flow.Batch) {
		s.MarkSynced(b)
		for i, x := range map[int]int{1: 5, 2: 2, 4: 4} {
			s.Set(b, i, x)
		}
	})
	g.Settle()
	follower := flow.Follow(c)
	g.View(func(v flow.View) { told(follower.Changes(v)) })
	err := g.Try(func(b *flow.Batch) {
		s.Delete(b, 1)
		s.Delete(b, 4)
		s.Set(b, 4, 4)
		s.Set(b, 2, 6)
		s.Set(b, 3, 6)
		s.Set(b, 8, 6)
		s.Delete(b, 8)
	}, func(v flow.View) {
		if got := told(flow.StagedChanges(v, c)); got != "-1\n2=6\n3=6" || flow.Len(v, c) != 3 {
			t.Errorf("a Try changes\n%s\nand has %d keys", got, flow.Len(v, c))
		}
		if at := flow.ChangedAt(v, c, 1); at != v.Rev() {
			t.Errorf("1 changed at %d", at)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	g.View(func(v flow.View) {
		if got := told(follower.Changes(v)); got != "" {
			t.Errorf("a Try is told to a follower: %s", got)
		}
	})
}

// A source of which all keys come and go leaves nothing behind, and who follows is told of each deletion, whatever they
// are in number.
func TestFollowerOfDeletions(t *testing.T) {
	g := flow.New(flow.Config{})
	s := flow.NewSource[int, int](g, "s")
	follower := flow.Follow(s.Collection())
	const n = 10_000
	for _, edit := range []func(*flow.Batch, int){func(b *flow.Batch, i int) { s.Set(b, i, i) }, s.Delete} {
		g.Apply("edit", func(b *flow.Batch) {
			s.MarkSynced(b)
			for i := range n {
				edit(b, i)
			}
		})
		g.Settle()
		g.View(func(v flow.View) {
			seen := 0
			for ch := range follower.Changes(v) {
				if ch.Key != seen || ch.Deleted != (flow.Len(v, s.Collection()) == 0) {
					t.Fatalf("change %d: %+v", seen, ch)
				}
				seen++
			}
			if seen != n {
				t.Errorf("told %d changes", seen)
			}
		})
	}
}
