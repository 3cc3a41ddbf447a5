package flow

import "time"

// Batch collects the edits of one Apply or Try. It is valid until the edit function returns.
type Batch struct {
	g      *Graph
	cause  string
	at     time.Time // when it was queued
	edits  []func()
	synced []*syncing
	closed bool
}

// Apply queues what edit writes into the batch for the next turn. All edits of one call share a turn, in the order in
// which they were written; calls keep their order. The cause ("file", "ack") is in the record of that turn. Apply
// runs edit in the caller's goroutine and never waits for a turn.
func (g *Graph) Apply(cause string, edit func(*Batch)) {
	b := &Batch{g: g, cause: cause}
	edit(b)
	b.closed = true
	g.enqueueBatch(b)
}

func (g *Graph) enqueueBatch(b *Batch) {
	b.at = g.cfg.Now()
	g.queueMu.Lock()
	g.queue = append(g.queue, b)
	for _, s := range b.synced {
		s.markSynced()
	}
	g.queueMu.Unlock()
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// takeBatches returns the queued batches, or false if no turn is due: nothing is queued and the first turn is over, or
// a source is not synced.
func (g *Graph) takeBatches() ([]*Batch, bool) {
	first := g.rev == 0 // only a turn writes rev, and the caller runs the turn
	g.queueMu.Lock()
	defer g.queueMu.Unlock()
	if g.unsynced > 0 || len(g.queue) == 0 && !first {
		return nil, false
	}
	g.sealed.Store(true)
	batches := g.queue
	g.queue = nil
	return batches, true
}

// addEdit checks that an edit belongs here and adds it.
func (b *Batch) addEdit(g *Graph, source string, edit func()) {
	if b.g != g {
		panic("flow: source " + source + " edited in a batch of another graph")
	}
	if b.closed {
		panic("flow: source " + source + " edited in a batch after its Apply returned")
	}
	b.edits = append(b.edits, edit)
}
