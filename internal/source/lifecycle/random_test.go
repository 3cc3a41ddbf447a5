package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/model"
)

// world is what a source has at random, beside what Objects make of it.
type world struct {
	*rig
	t     *testing.T
	rand  *rand.Rand
	there map[string]version // the newest versions
	since map[string]since
	all   []string // all that was ever reported
}

// since is the state that an object is in, and from when.
type since struct {
	state State
	at    time.Time
}

var worldNames = []string{"a", "b", "c", "d"}

// edit does something at random.
func (w *world) edit(n int) {
	name := worldNames[w.rand.IntN(len(worldNames))]
	switch w.rand.IntN(8) {
	case 0:
		w.step(fmt.Sprint("+", w.rand.IntN(120)))
	case 1:
		delete(w.there, name)
		w.step("-" + name)
	case 2:
		delete(w.there, name)
		w.step("!" + name)
	case 3:
		w.step([]string{"x?", "y?"}[w.rand.IntN(2)])
	case 4:
		w.step([]string{"?x", "?y"}[w.rand.IntN(2)])
	default:
		text := fmt.Sprintf("%s.%d", name, n)
		for range w.rand.IntN(4) {
			words := append([]string{"a", "b/p", "c/q", "d/p", "d/q", "?x", "?y", ":p", ":q"}, worldNames...)
			text += " " + words[w.rand.IntN(len(words))]
		}
		w.there[name] = parse(text)
		w.step(text)
	}
}

// check says whether all is as it should be after a step, with what was published before it.
func (w *world) check(step string, before map[string]version) {
	w.t.Helper()
	for _, name := range worldNames {
		ref := refTo(name)
		state := w.state(ref)
		live, known := w.PublishedVersion(ref)
		newest, exists := w.there[name]
		switch {
		case before[name].name != "" && exists && !known:
			w.t.Fatalf("%s: %s exists and was removed", step, name)
		case state == Known && live.name != newest.name, state == Absent && exists:
			w.t.Fatalf("%s: %s is in state %d with %q, and the newest version is %q", step, name, state, live.name, newest.name)
		case state == Fading && (exists || !known), state == Held && (!known || !w.losesReference(ref, newest)):
			w.t.Fatalf("%s: %s is in state %d and should not be", step, name, state)
		}
		w.checkTime(step, name, state)
	}
	at := w.NextDeadline()
	if at.IsZero() != (w.Count(Held)+w.Count(Fading) == 0) || !at.IsZero() && !at.After(w.now) {
		w.t.Fatalf("%s: the next look is at %v, and now it is %v", step, at, w.now)
	}
}

// checkTime says whether an object that is held or fading became so less than Hold ago.
func (w *world) checkTime(step, name string, state State) {
	w.t.Helper()
	began := w.since[name]
	if began.state != state {
		began = since{state, w.now}
		w.since[name] = began
	}
	if (state == Held || state == Fading) && w.now.Sub(began.at) >= Hold {
		w.t.Fatalf("%s: %s has been in state %d since %v, and now it is %v", step, name, state, began.at, w.now)
	}
}

func (w *world) published() map[string]version {
	m := map[string]version{}
	for ref, v := range w.PublishedOfKind(model.KindService) {
		m[ref.Name()] = v
	}
	return m
}

// run makes random edits, lets the waits end, and returns all that was reported.
func run(t *testing.T, seed uint64) string {
	w := &world{rig: newRig(), t: t, rand: rand.New(rand.NewPCG(seed, 0)), there: map[string]version{},
		since: map[string]since{}}
	for n := range 60 {
		before := w.published()
		w.edit(n)
		w.check(fmt.Sprintf("seed %d, step %d", seed, n), before)
		w.all = append(w.all, w.told())
	}
	w.step("x?")
	w.step("y?")
	for range 2 * len(worldNames) {
		if at := w.NextDeadline(); !at.IsZero() {
			w.now = at
			w.settle(at)
		}
	}
	w.all = append(w.all, w.told())
	if at := w.NextDeadline(); !at.IsZero() || len(w.AllWaiting()) > 0 {
		t.Fatalf("seed %d: in the end %v wait, until %v", seed, w.AllWaiting(), at)
	}
	for _, name := range worldNames {
		if got, want := w.published()[name].name, w.there[name].name; got != want {
			t.Fatalf("seed %d: in the end %q is published, and the newest version is %q", seed, got, want)
		}
	}
	return strings.Join(w.all, "\n")
}

// TestRandom: whatever arrives in whatever order, nothing that exists has a gap, nothing waits for too long, in the end
// all is as it is at the source, and what is reported depends on nothing else.
func TestRandom(t *testing.T) {
	for seed := range uint64(1000) {
		first := run(t, seed)
		if again := run(t, seed); first != again {
			t.Fatalf("seed %d: two runs differ:\n%s\n\n%s", seed, first, again)
		}
	}
}
