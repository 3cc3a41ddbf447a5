package explain

import (
	"context"
	"slices"
	"sync"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// Bounds of what is remembered: edits of all objects together, and of one.
const (
	maxEdits          = 1000
	maxEditsPerObject = 5
)

// PastEdit is an edit that a later one has replaced, and how far it got.
type PastEdit struct {
	Edit   *Edit  `json:"edit,omitempty"`
	Stages Stages `json:"stages"`
}

// editHistory remembers the last edits that were read. It may be asked in a View, so nothing that waits for the graph
// runs under its lock.
type editHistory struct {
	mu    sync.Mutex
	order []model.ObjectRef // of the edits, the oldest first; an object's are in the order of its own
	edits map[model.ObjectRef][]*editRecord
	seen  flow.Rev // the revision up to which edits were looked for
}

// editRecord is one edit, the last of those that were made from the look before it on.
type editRecord struct {
	PastEdit
	from, rev  flow.Rev // the revision up to which the look before saw everything, and the one in which this edit was read
	generation int64
	made       bool // it made the object, so it brought all of its rules
	sole       bool // it is known of one edit only that it was made then: what changed with it, it brought
	acked      map[resource.AckKey]bool
}

func newHistory() *editHistory { return &editHistory{edits: map[model.ObjectRef][]*editRecord{}} }

// noteRead notes that an edit was read in a turn.
func (h *editHistory) noteRead(ref model.ObjectRef, meta model.Meta, turn flow.Turn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &editRecord{
		PastEdit: PastEdit{Edit: editOf(meta)}, from: h.seen, rev: turn.Rev, generation: meta.Generation,
		made:  createsObject(meta),
		acked: map[resource.AckKey]bool{},
	}
	if list := h.edits[ref]; len(list) > 0 {
		r.sole = meta.Generation == list[len(list)-1].generation+1
	} else {
		// a file that came; others may have been there unread
		r.sole = h.seen > 0 && meta.Generation == 1 && r.Edit != nil && r.Edit.Where != ""
	}
	if r.Edit != nil {
		r.Stages.Edited = r.Edit.At
	}
	r.Stages.Read, r.Stages.Turn = optionalTime(turn.At), turn.Took
	if h.order = append(h.order, ref); len(h.order) > maxEdits {
		h.dropOldest(h.order[0])
		h.order = h.order[1:]
	}
	if list := h.edits[ref]; len(list) == maxEditsPerObject {
		h.dropOldest(ref)
		i := slices.Index(h.order, ref)
		h.order = slices.Delete(h.order, i, i+1)
	}
	h.edits[ref] = append(h.edits[ref], r)
}

// dropOldest forgets an object's oldest edit. mu is held.
func (h *editHistory) dropOldest(ref model.ObjectRef) {
	if h.edits[ref] = slices.Delete(h.edits[ref], 0, 1); len(h.edits[ref]) == 0 {
		delete(h.edits, ref)
	}
}

// noteAcknowledged notes that all proxies have a fragment, for the last edit that it was sent with. If that edit was
// acknowledged before, something else changed the fragment.
func (h *editHistory) noteAcknowledged(
	key resource.AckKey, at time.Time, sentWith func(resource.Key, flow.Rev) (time.Time, bool),
) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range slices.Backward(h.edits[key.Origin.Object]) {
		sent, found := sentWith(key.Resource, r.rev)
		if !found || sent.After(at) {
			continue
		}
		if !r.acked[key] {
			r.acked[key] = true
			r.Stages.Sent, r.Stages.Acknowledged = laterTime(r.Stages.Sent, sent), laterTime(r.Stages.Acknowledged, at)
		}
		return
	}
}

// laterTime is the later of two times.
func laterTime(a *time.Time, b time.Time) *time.Time {
	if t := optionalTime(b); a == nil || t.After(*a) {
		return t
	}
	return a
}

// editsBefore are the edits of an object before the one of a revision, the newest first.
func (h *editHistory) editsBefore(ref model.ObjectRef, rev flow.Rev) (list []PastEdit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range slices.Backward(h.edits[ref]) {
		if r.rev < rev {
			list = append(list, r.PastEdit)
		}
	}
	return list
}

// noteLooked notes that all edits up to a revision were read.
func (h *editHistory) noteLooked(rev flow.Rev) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = rev
}

// createsObject tells whether an edit made its object, and no later one changed the spec. A folder does not know when
// an object was made.
func createsObject(m model.Meta) bool {
	return m.Generation == 1 && !m.Created.IsZero() && m.LastEdit != nil && !m.LastEdit.At.After(m.Created)
}

// editThatBrought is the edit of an object, as read in a revision, that brought what changed last in another one; false
// if that is not known. It is not if several edits were made between two looks, if nobody looked since, or if something
// else than the object's edit changed it.
func (h *editHistory) editThatBrought(ref model.ObjectRef, read, changed flow.Rev) (*Edit, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	unseen := h.seen < changed
	if list := h.edits[ref]; len(list) > 0 && list[len(list)-1].rev == read {
		unseen = false
	}
	for _, r := range slices.Backward(h.edits[ref]) {
		if r.rev <= changed {
			return r.Edit, !unseen && (r.made || r.sole && r.rev == changed)
		}
		unseen = r.from < changed
	}
	return nil, false
}

// Run remembers edits until ctx is done.
func (e *Explainer) Run(ctx context.Context) error {
	r := e.newReader()
	defer r.stop()
	for range e.config.World.Graph.Watch(ctx) {
		r.readChanges()
	}
	return nil
}
