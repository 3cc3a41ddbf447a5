package flow_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
)

// contents is what the sources of a world should hold.
type contents []map[int]row

func (w *world) rebuild(r rig, now contents) *world {
	fresh := newWorld(r, flow.Config{Name: "rebuilt"})
	fresh.g.Apply("load", func(b *flow.Batch) {
		for i, s := range fresh.sources {
			for k, v := range now[i] {
				s.Set(b, k, v)
			}
			s.MarkSynced(b)
		}
	})
	fresh.g.Settle()
	return fresh
}

// edit makes up to n random edits and says what the sources hold after them.
func (w *world) edit(rnd *rand.Rand, b *flow.Batch, now contents, keys, n int) contents {
	after := make(contents, len(now))
	for i := range now {
		after[i] = map[int]row{}
		for k, v := range now[i] {
			after[i][k] = v
		}
	}
	for range 1 + rnd.IntN(n) {
		i, k := rnd.IntN(len(w.sources)), rnd.IntN(keys)
		if rnd.IntN(3) == 0 {
			w.sources[i].Delete(b, k)
			delete(after[i], k)
			continue
		}
		v := randomRow(rnd, keys)
		w.sources[i].Set(b, k, v)
		after[i][k] = v
	}
	return after
}

// After any edits, every collection of every rig is what a rebuild from scratch makes of the same sources; a follower
// of Changes holds the same; and a Try shows what its edits would make, and leaves nothing behind.
func TestRandomEditsEqualARebuild(t *testing.T) {
	eachRig(t, func(t *testing.T, r rig) {
		for _, size := range []struct{ keys, edits, turns, workers int }{{8, 4, 150, 1}, {300, 200, 12, 4}} {
			rnd := rand.New(rand.NewPCG(1, uint64(size.keys)))
			w := newWorld(r, flow.Config{Name: r.name, Check: true, Workers: size.workers})
			w.synced()
			now := make(contents, len(w.sources))
			for turn := range size.turns {
				if turn%3 == 0 {
					checkTry(t, w, r, rnd, now, size.keys, size.edits)
				}
				w.g.Apply("edit", func(b *flow.Batch) { now = w.edit(rnd, b, now, size.keys, size.edits) })
				w.g.Settle()
				rebuilt := w.rebuild(r, now)
				want := rebuilt.now()
				if got := w.now(); got != want {
					t.Fatalf("%d keys, turn %d: got\n%s\nwant, as rebuilt,\n%s", size.keys, turn, got, want)
				}
				checkSizes(t, w.g.Stats(), rebuilt.g.Stats())
				if rnd.IntN(4) == 0 {
					continue // the follower lags
				}
				w.g.View(func(v flow.View) {
					for _, s := range w.all {
						if got, want := s.follow(v), s.text(v); got != want {
							t.Fatalf("turn %d: a follower of %s has\n%s\nwant\n%s", turn, s.name, got, want)
						}
					}
				})
			}
		}
	})
}

// checkSizes: a graph with a history keeps no more than one without: no edge that nothing depends on, no place for a
// key that nobody waits for.
func checkSizes(t *testing.T, got, rebuilt []flow.CollectionStats) {
	t.Helper()
	for i, s := range got {
		r := rebuilt[i]
		if s.Stale > 0 {
			r.Keys = s.Keys // what stale runs keep is history
		}
		if s.Keys != r.Keys || s.Edges != r.Edges || s.Stale != r.Stale {
			t.Fatalf("%s has %d keys, %d edges, %d stale; rebuilt %d, %d, %d", s.Name, s.Keys, s.Edges, s.Stale, r.Keys, r.Edges,
				r.Stale)
		}
		if s.Absent != r.Absent {
			t.Fatalf("%s waits for %d absent keys; rebuilt it waits for %d", s.Name, s.Absent, r.Absent)
		}
	}
}

func (w *world) now() (text string) {
	w.g.View(func(v flow.View) { text = w.text(v) })
	return text
}

func checkTry(t *testing.T, w *world, r rig, rnd *rand.Rand, now contents, keys, edits int) {
	t.Helper()
	before, stats, turns := w.now(), fmt.Sprint(w.g.Stats()), len(w.g.Turns())
	var after contents
	var got string
	var follow []string
	err := w.g.Try(func(b *flow.Batch) { after = w.edit(rnd, b, now, keys, edits) }, func(v flow.View) {
		got = w.text(v)
		for _, s := range w.all {
			follow = append(follow, s.text(v))
		}
	})
	if r.name == "panics" {
		return // panics of a Try are its error, not a later turn's Panics; that has a test of its own
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := w.rebuild(r, after).now(); got != want {
		t.Fatalf("a Try shows\n%s\nwant, as rebuilt,\n%s", got, want)
	}
	if w.now() != before || fmt.Sprint(w.g.Stats()) != stats || len(w.g.Turns()) != turns {
		t.Fatalf("a Try left something behind: before\n%s\nafter\n%s", before, w.now())
	}
}
