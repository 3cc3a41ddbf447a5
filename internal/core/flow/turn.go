package flow

import (
	"context"
	"errors"
	"log/slog"
)

// ErrRunning: Run was called while it runs.
var ErrRunning = errors.New("flow: graph is running already")

// Run runs a turn whenever something is queued, until ctx ends; then it returns nil. In check mode a breach of the
// contract panics with a *CheckError.
func (g *Graph) Run(ctx context.Context) error {
	if !g.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer g.running.Store(false)
	for {
		if ctx.Err() != nil {
			return nil
		}
		if g.runTurn() {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-g.wake:
		}
	}
}

// Settle runs turns in the caller's goroutine until nothing is queued. It does nothing before every source is synced.
// It can be called while Run runs; a turn that Run has begun is complete when Settle returns.
func (g *Graph) Settle() {
	for g.runTurn() {
	}
}

// turn is the state of one turn.
type turn struct {
	g          *Graph
	rev        Rev // what it will be called if it changes anything
	record     Turn
	faults     []faultRecord // contained panics
	recoveries []PanicKey
}

func (g *Graph) runTurn() bool {
	g.turnMu.Lock()
	defer g.turnMu.Unlock()
	batches, due := g.takeBatches()
	if !due {
		return false
	}
	now := g.cfg.Now()
	t := &turn{g: g, rev: g.rev + 1, record: Turn{Queued: now, At: now}}
	for _, b := range batches {
		t.record.addBatch(b)
	}
	defer t.dropStaged() // also if a check panics
	t.runStages(batches)
	t.commit()
	t.reportPanics()
	for _, f := range g.onTurn {
		f(t.record)
	}
	g.cfg.Log.Debug("turn committed", slog.String("graph", g.cfg.Name), slog.Uint64("rev", uint64(t.record.Rev)),
		slog.Any("causes", t.record.Causes), slog.Int("edits", t.record.Edits), slog.Int("runs", t.record.Runs),
		slog.Int("changes", t.record.Changes), slog.Duration("took", t.record.Took))
	return true
}

// runStages stages the results of the batches. Nothing of it is visible yet.
func (t *turn) runStages(batches []*Batch) {
	for _, b := range batches {
		t.record.Edits += len(b.edits) - len(b.synced)
		for _, edit := range b.edits {
			edit()
		}
	}
	for _, s := range t.g.stages {
		start := t.g.cfg.Now()
		n := s.workCounters()
		before := n.working.Runs
		s.computeKeys(t)
		s.finishTurn(t)
		runs, changes := int(n.working.Runs-before), s.changeCount()
		if runs == 0 && changes == 0 {
			continue
		}
		took := t.g.cfg.Now().Sub(start)
		n.working.Changes += uint64(changes)
		n.working.Took += took
		t.record.Runs += runs
		t.record.Changes += changes
		t.record.Collections = append(t.record.Collections,
			TurnCollection{Name: s.title(), Runs: runs, Changes: changes, Took: took})
	}
	if t.g.cfg.Check {
		for _, s := range t.g.stages {
			s.verifyValues()
		}
	}
}

// commit makes the turn visible, all at once.
func (t *turn) commit() {
	g := t.g
	for _, s := range g.stages {
		s.storeRuns()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	grows := t.record.Changes > 0 || g.rev == 0
	if grows {
		g.rev = t.rev
	}
	for _, s := range g.stages {
		s.commit(g.rev)
		s.workCounters().publishCounts()
	}
	if grows {
		close(g.grown)
		g.grown = make(chan struct{})
	}
	t.record.Rev = g.rev
	t.record.Took = g.cfg.Now().Sub(t.record.At)
	g.turns.add(t.record)
}

func (t *turn) dropStaged() {
	for _, s := range t.g.stages {
		s.dropStaged()
	}
}
