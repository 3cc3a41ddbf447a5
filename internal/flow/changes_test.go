package flow_test

import (
	"fmt"
	"slices"
	"testing"

	"cardea.dev/cardea/internal/flow"
)

func changes(v flow.View, c *flow.Collection[int, int], since flow.Rev) string {
	var lines []string
	for ch := range flow.Changes(v, c, since) {
		switch {
		case ch.Reset:
			lines = append(lines, "reset")
		case ch.Deleted:
			lines = append(lines, fmt.Sprintf("-%d@%d", ch.Key, ch.Rev))
		default:
			lines = append(lines, fmt.Sprintf("%d=%d@%d", ch.Key, ch.Value, ch.Rev))
		}
	}
	slices.Sort(lines)
	return fmt.Sprint(lines)
}

func TestChangesSince(t *testing.T) {
	g := flow.New(flow.Config{Check: true})
	s := flow.NewSource[int, int](g, "s")
	c := s.Collection()
	for _, edit := range []func(*flow.Batch){
		func(b *flow.Batch) { s.Synced(b); s.Set(b, 1, 1); s.Set(b, 2, 1) }, // rev 1
		func(b *flow.Batch) { s.Set(b, 2, 2); s.Set(b, 3, 2) },
		func(b *flow.Batch) { s.Delete(b, 1); s.Set(b, 2, 2) }, // the second one is no change
		func(b *flow.Batch) { s.Delete(b, 3); s.Set(b, 4, 4) },
		func(b *flow.Batch) { s.Set(b, 1, 5) }, // comes back
	} {
		g.Apply("edit", edit)
		g.Settle()
	}
	want := []string{"[1=5@5 2=2@2 4=4@4]", "[-3@4 1=5@5 2=2@2 4=4@4]", "[-3@4 1=5@5 4=4@4]", "[-3@4 1=5@5 4=4@4]", "[1=5@5]", "[]", "[]"}
	g.View(func(v flow.View) {
		for since, want := range want {
			if got := changes(v, c, flow.Rev(since)); got != want {
				t.Errorf("since %d: %s, want %s", since, got, want)
			}
		}
	})
	err := g.Try(func(b *flow.Batch) {
		s.Delete(b, 1)
		s.Delete(b, 4)
		s.Set(b, 4, 4)
		s.Set(b, 2, 6)
		s.Set(b, 3, 6)
		s.Set(b, 7, 6)
		s.Set(b, 8, 6)
		s.Delete(b, 8)
	}, func(v flow.View) {
		if got := changes(v, c, v.Rev()-1); got != "[-1@6 2=6@6 3=6@6 7=6@6]" || v.Rev() != 6 || flow.Len(v, c) != 4 {
			t.Errorf("a Try changes %s at %d, %d keys", got, v.Rev(), flow.Len(v, c))
		}
		if got := changes(v, c, 0); got != "[2=6@6 3=6@6 4=4@4 7=6@6]" {
			t.Errorf("a Try has %s", got)
		}
		if at := flow.ChangedAt(v, c, 1); at != 6 {
			t.Errorf("1 changed at %d", at)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	g.View(func(v flow.View) {
		if got := changes(v, c, 4); got != want[4] || v.Rev() != 5 {
			t.Errorf("after the Try: %s at %d", got, v.Rev())
		}
	})
}

// Tombstones are bounded. Who lags behind them is told to start over, and who follows is not.
func TestForgottenDeletionsAreAReset(t *testing.T) {
	g := flow.New(flow.Config{})
	s := flow.NewSource[int, int](g, "s")
	c := s.Collection()
	const n = 10_000
	g.Apply("load", func(b *flow.Batch) {
		for i := range n {
			s.Set(b, i, i)
		}
		s.Synced(b)
	})
	g.Settle()
	deleted := 0
	for i := 0; i < n-1; i += 3 {
		g.Apply("edit", func(b *flow.Batch) {
			for j := i; j < min(i+3, n-1); j++ {
				s.Delete(b, j)
			}
		})
		g.Settle()
		g.View(func(v flow.View) {
			for ch := range flow.Changes(v, c, v.Rev()-1) {
				if ch.Reset || !ch.Deleted {
					t.Fatalf("at %d: %+v", v.Rev(), ch)
				}
				deleted++
			}
		})
	}
	if deleted != n-1 {
		t.Errorf("the follower saw %d deletions, want %d", deleted, n-1)
	}
	for _, st := range g.Stats() {
		if st.Tombstones > 4096+3 {
			t.Errorf("%d tombstones in %s", st.Tombstones, st.Name)
		}
	}
	g.View(func(v flow.View) { // each Rev after the first deleted three keys
		resets := 0
		for since := flow.Rev(1); since < v.Rev(); since++ {
			told, reset := 0, false
			for ch := range flow.Changes(v, c, since) {
				reset = reset || ch.Reset
				told++
			}
			if reset {
				resets++
			} else if want := 3 * int(v.Rev()-since); told != want {
				t.Fatalf("since %d: told %d changes without a reset, want %d", since, told, want)
			}
		}
		if resets == 0 || resets > int(v.Rev())-4096/3 {
			t.Errorf("%d of %d revs are forgotten", resets, v.Rev())
		}
	})
	g.View(func(v flow.View) {
		for _, since := range []flow.Rev{0, 1, v.Rev() / 2, v.Rev() - 1000} {
			n, resets, first := 0, 0, false
			for ch := range flow.Changes(v, c, since) {
				if ch.Reset {
					resets++
					first = n == 0
				} else if resets > 0 && ch.Deleted {
					t.Fatalf("since %d: a deletion after a reset", since)
				}
				n++
			}
			switch wantReset := since == 1 || since == v.Rev()/2; {
			case wantReset && (resets != 1 || !first || n != 2):
				t.Errorf("since %d: %d resets, first %t, %d changes", since, resets, first, n)
			case !wantReset && resets != 0:
				t.Errorf("since %d: a reset", since)
			}
		}
	})
	// Deletions of one turn are told to who follows, be they more than the bound.
	g.Apply("edit", func(b *flow.Batch) {
		for i := range n {
			s.Set(b, i, -i-1)
		}
	})
	g.Settle()
	g.Apply("edit", func(b *flow.Batch) {
		for i := range n {
			s.Delete(b, i)
		}
	})
	g.Settle()
	g.Apply("nothing", func(b *flow.Batch) { s.Delete(b, 1) }) // a turn without a Rev forgets nothing
	g.Settle()
	g.View(func(v flow.View) {
		told := 0
		for ch := range flow.Changes(v, c, v.Rev()-1) {
			if !ch.Deleted || ch.Reset {
				t.Fatalf("%+v", ch)
			}
			told++
		}
		if told != n {
			t.Errorf("%d deletions told of %d", told, n)
		}
	})
	// The next turn forgets what is above the bound.
	g.Apply("edit", func(b *flow.Batch) { s.Set(b, 1, 1) })
	g.Settle()
	g.Apply("edit", func(b *flow.Batch) { s.Delete(b, 1) })
	g.Settle()
	if st := g.Stats()[1]; st.Tombstones != 4096 {
		t.Errorf("%d tombstones in %s", st.Tombstones, st.Name)
	}
	g.View(func(v flow.View) {
		if got := changes(v, c, 1); got != "[reset]" {
			t.Errorf("an empty collection tells who knows rev 1: %s", got)
		}
	})
}
