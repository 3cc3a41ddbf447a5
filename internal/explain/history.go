package explain

import (
	"context"
	"slices"
	"sync"
	"time"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resource"
)

// Bounds of what is remembered: edits of all objects together, and of one.
const (
	keptEdits   = 1000
	keptEditsOf = 5
)

// Past is an edit that a later one has replaced, and how far it got.
type Past struct {
	Edit   *Edit  `json:"edit,omitempty"`
	Stages Stages `json:"stages"`
}

// history remembers the last edits that were read. It may be asked in a View, so nothing that waits for the graph runs under its lock.
type history struct {
	mu    sync.Mutex
	order []model.ObjectRef // of the edits, the oldest first; an object's are in the order of its own
	edits map[model.ObjectRef][]*record
}

// record is one edit.
type record struct {
	Past
	rev   flow.Rev
	acked map[resource.AckKey]bool
}

func newHistory() *history { return &history{edits: map[model.ObjectRef][]*record{}} }

// read notes that an edit was read in a turn.
func (h *history) read(ref model.ObjectRef, meta model.Meta, turn flow.Turn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &record{Past: Past{Edit: editOf(meta)}, rev: turn.Rev, acked: map[resource.AckKey]bool{}}
	if r.Edit != nil {
		r.Stages.Edited = r.Edit.At
	}
	r.Stages.Read, r.Stages.Turn = moment(turn.At), turn.Took
	if h.order = append(h.order, ref); len(h.order) > keptEdits {
		h.drop(h.order[0])
		h.order = h.order[1:]
	}
	if list := h.edits[ref]; len(list) == keptEditsOf {
		h.drop(ref)
		i := slices.Index(h.order, ref)
		h.order = slices.Delete(h.order, i, i+1)
	}
	h.edits[ref] = append(h.edits[ref], r)
}

// drop forgets an object's oldest edit. mu is held.
func (h *history) drop(ref model.ObjectRef) {
	if h.edits[ref] = slices.Delete(h.edits[ref], 0, 1); len(h.edits[ref]) == 0 {
		delete(h.edits, ref)
	}
}

// acknowledged notes that all proxies have a fragment, of the last edit that it was sent with. What is acknowledged again was changed by
// something else.
func (h *history) acknowledged(key resource.AckKey, at time.Time, sentWith func(resource.Key, flow.Rev) (time.Time, bool)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range slices.Backward(h.edits[key.Origin.Object]) {
		sent, found := sentWith(key.Resource, r.rev)
		if !found || sent.After(at) {
			continue
		}
		if !r.acked[key] {
			r.acked[key] = true
			r.Stages.Sent, r.Stages.Acknowledged = later(r.Stages.Sent, sent), later(r.Stages.Acknowledged, at)
		}
		return
	}
}

// later is the later of two times.
func later(a *time.Time, b time.Time) *time.Time {
	if t := moment(b); a == nil || t.After(*a) {
		return t
	}
	return a
}

// before are the edits of an object before the one of a revision, the newest first.
func (h *history) before(ref model.ObjectRef, rev flow.Rev) (list []Past) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range slices.Backward(h.edits[ref]) {
		if r.rev < rev {
			list = append(list, r.Past)
		}
	}
	return list
}

// upTo is the last edit of an object that was read up to a revision, of those that are remembered.
func (h *history) upTo(ref model.ObjectRef, rev flow.Rev) (*Edit, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range slices.Backward(h.edits[ref]) {
		if r.rev <= rev {
			return r.Edit, true
		}
	}
	return nil, false
}

// Run remembers edits until ctx is done.
func (e *Explainer) Run(ctx context.Context) error {
	w := e.config.World
	var sources []input.Follower
	for _, kind := range model.Kinds() {
		if of := w.Sources.Of(kind); of != nil && kind != model.KindEndpointSlice { // nobody edits those, and they change all the time
			sources = append(sources, of.Follow())
		}
	}
	acked := w.Feedback.Acked.Collection()
	acks := flow.Follow(acked)
	defer func() {
		acks.Stop()
		for _, s := range sources {
			s.Stop()
		}
	}()
	for range w.Graph.Watch(ctx) {
		var news []func()
		w.Graph.View(func(v flow.View) {
			for _, s := range sources {
				for _, ref := range s.Changed(v) {
					meta, rev, found := w.Sources.Of(ref.Kind()).Meta(v, ref)
					news = append(news, func() {
						if turn, known := w.Graph.TurnOf(rev); known && found {
							e.history.read(ref, meta, turn)
						}
					})
				}
			}
			for change := range acks.Changes(v) {
				rev := flow.ChangedAt(v, acked, change.Key)
				news = append(news, func() {
					if turn, known := w.Graph.TurnOf(rev); known && !change.Deleted && e.config.Sent != nil {
						e.history.acknowledged(change.Key, turn.At, e.config.Sent)
					}
				})
			}
		})
		for _, note := range news {
			note()
		}
	}
	return nil
}
