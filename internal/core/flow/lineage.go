package flow

import (
	"slices"
	"sort"
	"time"
)

// Turn is the record of one turn. A turn that changed nothing has the Rev of the one before it.
type Turn struct {
	Rev         Rev
	Queued      time.Time // when the oldest of its Applies was queued
	At          time.Time // when it began
	Took        time.Duration
	Causes      []string // of its Applies, each once, in order
	Edits       int      // Sets and Deletes
	Runs        int      // of transforms
	Changes     int      // keys with another value after it, in all collections
	Collections []TurnCollection
}

// TurnCollection is the work on one collection in a turn. Collections without work are left out.
type TurnCollection struct {
	Name    string
	Runs    int
	Changes int
	Took    time.Duration
}

// addBatch adds a batch to the record.
func (t *Turn) addBatch(b *Batch) {
	if b.at.Before(t.Queued) {
		t.Queued = b.at
	}
	if !slices.Contains(t.Causes, b.cause) {
		t.Causes = append(t.Causes, b.cause)
	}
}

// Turns returns the last 1,000 turns, the oldest first.
func (g *Graph) Turns() []Turn {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.turns.all()
}

// TurnOf returns the turn that made a revision; false if it is older than the last 1,000. It must not be called in a
// View.
func (g *Graph) TurnOf(rev Rev) (Turn, bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.turns.find(rev)
}

// OnTurn registers f, which is called after each later turn in the goroutine of the turn: f must be quick, and must not
// start a turn. OnTurn waits for a turn that is running.
func (g *Graph) OnTurn(f func(Turn)) {
	g.turnMu.Lock()
	defer g.turnMu.Unlock()
	g.onTurn = append(g.onTurn, f)
}

const ringLen = 1000

type ring struct {
	turns []Turn
	next  int // where the oldest is, once the ring is full
}

func (r *ring) add(t Turn) {
	if len(r.turns) < ringLen {
		r.turns = append(r.turns, t)
		return
	}
	r.turns[r.next] = t
	r.next = (r.next + 1) % ringLen
}

func (r *ring) find(rev Rev) (Turn, bool) {
	n := len(r.turns)
	at := func(i int) Turn { return r.turns[(r.next+i)%n] }
	i := sort.Search(n, func(i int) bool { return at(i).Rev >= rev })
	if i == n || at(i).Rev != rev {
		return Turn{}, false
	}
	return at(i), true
}

func (r *ring) all() []Turn {
	return append(slices.Clone(r.turns[r.next:]), r.turns[:r.next]...)
}
