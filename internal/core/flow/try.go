package flow

import (
	"errors"
	"fmt"
)

// ErrNotSynced: the graph has no committed state yet to try an edit on.
var ErrNotSynced = errors.New("flow: not every source is synced and in a turn")

// Try runs a turn with the edits of edit on top of the committed state, shows its result to read, and drops it: no Rev,
// no change, no record. Queued edits are not part of it. In read, the View's Rev is the one that the turn would get, so
// Staged(v, c) is what the edits would change. Other readers are not blocked; turns wait until read returns.
//
// Transforms that panic in a Try keep their old values, and Try returns an error that names the first.
func (g *Graph) Try(edit func(*Batch), read func(View)) error {
	b := &Batch{g: g, cause: "try"}
	edit(b)
	b.closed = true

	g.turnMu.Lock()
	defer g.turnMu.Unlock()
	if g.rev == 0 {
		return ErrNotSynced
	}
	t := &turn{g: g, rev: g.rev + 1}
	for _, s := range g.stages {
		s.workCounters().saveCounts()
		defer s.workCounters().restoreCounts()
	}
	defer t.dropStaged()
	t.runStages([]*Batch{b})
	v := View{&snapshot{g: g, rev: t.rev, staged: true}}
	defer v.endView()
	read(v)
	if len(t.faults) > 0 {
		f := t.faults[0]
		return fmt.Errorf("flow: try: %d transforms panicked, first %s of %s: %s", len(t.faults), f.key.Key, f.key.Collection,
			f.panic.Message)
	}
	return nil
}
