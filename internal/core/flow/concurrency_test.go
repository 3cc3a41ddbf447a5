package flow_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
)

// Everything at once, for the race detector: writers, a Run, views, followers, previews, dumps. Each Apply writes one
// number to every key of both sources, so a reader that sees two numbers sees half a turn.
func TestEverythingAtOnce(t *testing.T) {
	const keys, writers, edits = 100, 3, 60
	g := flow.New(flow.Config{Check: true, Workers: 4})
	a, b := flow.NewSource[int, int](g, "a"), flow.NewSource[int, int](g, "b")
	sum := flow.Map(a.Collection(), "sum", func(c *flow.Ctx, k, v int) (int, bool) {
		x, _ := flow.Fetch(c, b.Collection(), k)
		return v - x, true
	})
	groups := flow.Group(a.Collection(), "groups", func(k, v int) []int { return []int{v} },
		func(int, int) string { return "" })

	write := func(batch *flow.Batch, n int) {
		for k := range keys {
			a.Set(batch, k, n)
			b.Set(batch, k, n)
		}
	}
	whole := func(v flow.View) {
		n, ok := flow.Get(v, a.Collection(), 0)
		if !ok {
			return // before the first turn
		}
		for k := range keys {
			x, _ := flow.Get(v, b.Collection(), k)
			if diff, ok := flow.Get(v, sum, k); x != n || diff != 0 || !ok {
				t.Errorf("key %d: %d and %d, sum %d, %t", k, n, x, diff, ok)
			}
		}
		if m, _ := flow.Get(v, groups, n); m.Len() != keys || flow.Len(v, groups) != 1 {
			t.Errorf("group %d has %d members of %d groups", n, m.Len(), flow.Len(v, groups))
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	var running, reading, writing sync.WaitGroup
	running.Go(func() {
		if err := g.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	for range 2 {
		reading.Go(func() {
			seen := flow.Rev(0)
			for rev := range g.Watch(ctx) {
				if rev <= seen {
					t.Errorf("rev %d after %d", rev, seen)
				}
				seen = rev
				g.View(whole)
			}
		})
	}
	reading.Go(func() {
		copied := map[int]int{}
		follower := flow.Follow(b.Collection())
		defer follower.Stop()
		for range g.Watch(ctx) {
			g.View(func(v flow.View) {
				for ch := range follower.Changes(v) {
					copied[ch.Key] = ch.Value
				}
				for k, x := range flow.All(v, b.Collection()) {
					if copied[k] != x {
						t.Errorf("the follower has %d for %d, want %d", copied[k], k, x)
					}
				}
			})
		}
	})
	g.Apply("load", func(batch *flow.Batch) { write(batch, 1); a.MarkSynced(batch); b.MarkSynced(batch) })
	for w := range writers {
		writing.Go(func() {
			for i := range edits {
				g.Apply(fmt.Sprint("writer ", w), func(batch *flow.Batch) { write(batch, 2+w*edits+i) })
				switch i % 6 {
				case 0:
					g.Settle()
				case 1:
					if err := g.Try(func(batch *flow.Batch) { write(batch, -1) }, whole); err != nil && err != flow.ErrNotSynced {
						t.Error(err)
					}
				case 2:
					var text bytes.Buffer
					if err := g.Dump(&text, "sum"); err != nil {
						t.Error(err)
					}
				case 3:
					g.Stats()
					g.Turns()
				}
			}
		})
	}
	writing.Wait()
	g.Settle()
	g.View(whole)
	cancel()
	running.Wait()
	reading.Wait()
}

// A slow consumer gets the newest Rev, not each one.
func TestWatchSkipsWhatWasMissed(t *testing.T) {
	g := flow.New(flow.Config{})
	s := flow.NewSource[int, int](g, "s")
	edit := func(n int) {
		g.Apply("edit", func(b *flow.Batch) { s.Set(b, 0, n); s.MarkSynced(b) })
		g.Settle()
	}
	edit(0)
	var got []flow.Rev
	for rev := range g.Watch(t.Context()) {
		got = append(got, rev)
		if rev > 6 {
			break
		}
		for range 3 {
			edit(int(rev)*10 + len(got))
			edit(int(rev)*10 - len(got))
		}
	}
	if fmt.Sprint(got) != "[1 7]" {
		t.Errorf("got %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range g.Watch(ctx) {
		cancel() // and so it ends
	}
}

// Many turns that a consumer has not seen are one value of Notify.
func TestNotify(t *testing.T) {
	g := flow.New(flow.Config{})
	s := flow.NewSource[int, int](g, "s")
	ctx, cancel := context.WithCancel(t.Context())
	turns, seen := g.Notify(ctx), 0
	for n := range 4 {
		g.Apply("edit", func(b *flow.Batch) { s.Set(b, 0, n); s.MarkSynced(b) })
		g.Settle()
	}
	for seen != 3 {
		<-turns
		g.View(func(v flow.View) { seen, _ = flow.Get(v, s.Collection(), 0) })
	}
	cancel()
	for range turns { // until it is closed
	}
}
