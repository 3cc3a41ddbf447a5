package flow

import (
	"slices"
	"sort"
	"time"
)

// Turn is the record of one turn. A turn that changed nothing has the Rev of the one before it.
type Turn struct {
	Rev         Rev
	Queued      time.Time // when the oldest Apply that it took was
	At          time.Time // when it began
	Took        time.Duration
	Causes      []string // of the Applies that it took, each word once, in order
	Edits       int      // Sets and Deletes
	Runs        int      // of transforms
	Changes     int      // keys whose value differs after it, in all collections
	Collections []TurnCollection
}

// TurnCollection is a collection's part in a turn. Collections without one are left out.
type TurnCollection struct {
	Name    string
	Runs    int
	Changes int
	Took    time.Duration
}

// take notes a batch.
func (t *Turn) take(b *Batch) {
	if b.at.Before(t.Queued) {
		t.Queued = b.at
	}
	if !slices.Contains(t.Causes, b.cause) {
		t.Causes = append(t.Causes, b.cause)
	}
}

// Turns is the last 1,000 turns, the oldest first.
func (g *Graph) Turns() []Turn {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.turns.all()
}

// TurnOf is the turn that made a revision; false if it is longer ago than the last 1,000. It must not be called in a
// View.
func (g *Graph) TurnOf(rev Rev) (Turn, bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.turns.find(rev)
}

// OnTurn has f called after each turn from now on, in the goroutine that turns: f must be quick, and must not turn. It
// waits for a turn that is running.
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
