package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"cardea.dev/cardea/internal/core/ledger"
)

// batch is the transaction of some drafts. A draft that is refused changes nothing, and the others go on.
type batch struct {
	store  *Store
	drafts []preparedDraft
	dryRun bool // nothing is written, nothing is locked

	answers   []commitResult // of drafts
	made      []batchChange
	proposals batchProposals
	registry  *registry
	now       int64
}

// batchChange is a change of the batch.
type batchChange struct {
	ledger.ResolvedDraft
	request, draft string
}

func (b *batch) hasWrites() bool { return len(b.made) > 0 }

// resolveDrafts resolves the drafts and writes what they come to.
func (b *batch) resolveDrafts(t tx) error {
	b.answers, b.made, b.proposals = make([]commitResult, len(b.drafts)), nil, batchProposals{}
	h, err := readHead(t, !b.dryRun)
	if err != nil {
		return err
	}
	if b.registry, err = b.store.registry.readAt(t, h.registry); err != nil {
		return err
	}
	b.now = max(h.now, h.at) // a clock that is set back does not reorder history
	state := &ledger.LedgerState{Head: h.change, Digest: h.digest, Now: fromMicros(b.now), NewID: newID}
	if state.Objects, err = b.loadStates(t); err != nil {
		return err
	}
	known, err := b.findRequests(t)
	if err != nil {
		return err
	}
	var empty []batchChange // requests that changed nothing
	for i, p := range b.drafts {
		if again, ok := known[requestKey{p.draft.Author, p.draft.Request}]; ok && p.draft.Request != "" {
			b.answers[i], err = b.answerRepeat(t, p, again)
			if err != nil {
				return err
			}
			continue
		}
		if err := b.checkDraft(t, p, state); err != nil {
			if ledger.CodeOf(err) == "" {
				return err
			}
			b.answers[i].err = err
			continue
		}
		w, err := ledger.Resolve(state, p.draft, p.edits)
		if err == nil {
			err = b.noteCommitted(p, w.Change)
		}
		b.answers[i] = commitResult{w.Change, err}
		if err != nil || b.dryRun {
			continue
		}
		m := batchChange{ResolvedDraft: w, request: p.draft.Request, draft: p.hash}
		if w.Change.Number != 0 {
			b.made = append(b.made, m)
		} else if m.request != "" {
			empty = append(empty, m)
		}
		if m.request != "" {
			known[requestKey{p.draft.Author, m.request}] = earlierRequest{m.draft, w.Change.Number, &b.answers[i].change}
		}
	}
	hitFailpoint("before-write")
	if err := b.writeChanges(t, empty); err != nil {
		return err
	}
	return b.writeProposals(t)
}

// checkTargets refuses a draft with objects of targets that are not there.
func (b *batch) checkTargets(p preparedDraft) error {
	for _, e := range p.edits {
		if _, ok := b.registry.targets[e.Target]; !ok {
			return objectError(ledger.NotFound, e.Key, "there is no target "+e.Target,
				"make it first, or name one of: "+strings.Join(b.registry.names, ", "))
		}
	}
	return nil
}

// newID makes the id of an object.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

type requestKey struct{ author, request string }

// earlierRequest is what a request made the first time.
type earlierRequest struct {
	draft  string // its hash
	number int64
	change *ledger.Change // nil: it is in the database
}

// findRequests finds the drafts' requests that were made before.
func (b *batch) findRequests(t tx) (map[requestKey]earlierRequest, error) {
	known := map[requestKey]earlierRequest{}
	var asked rowTable
	for _, p := range b.drafts {
		if p.draft.Request != "" {
			asked = append(asked, []any{p.draft.Author, p.draft.Request})
		}
	}
	if len(asked) == 0 {
		return known, nil
	}
	return known, t.queryRows(func(rows *sql.Rows) error {
		var k requestKey
		var e earlierRequest
		err := rows.Scan(&k.author, &k.request, &e.draft, &e.number)
		known[k] = e
		return err
	}, `SELECT q.author, q.request, q.draft, q.change FROM {rows $1}
		JOIN requests q ON q.author = r.value->>0 AND q.request = r.value->>1`, asked.toJSON())
}

// laterChanges is the change that a request made before; none if it changed nothing.
func laterChanges(number int64) []int64 {
	if number == 0 {
		return nil
	}
	return []int64{number}
}

// answerRepeat answers a request that was made before. An error of the second kind is the database's.
func (b *batch) answerRepeat(t tx, p preparedDraft, e earlierRequest) (commitResult, error) {
	if e.draft != p.hash {
		return commitResult{err: &ledger.Error{Code: ledger.Conflict, Field: "request",
			Message: fmt.Sprintf("the key %q was used before, for another change (%d)", p.draft.Request, e.number),
			Fix:     "use a new key for each change", Later: laterChanges(e.number)}}, nil
	}
	var a commitResult
	switch {
	case e.change != nil:
		a.change = *e.change
	case e.number == 0:
		a.change = ledger.Change{At: fromMicros(b.now), Author: p.draft.Author, Via: p.draft.Via, Message: p.draft.Message,
			Verb: p.draft.Verb}
		for _, e := range p.edits {
			a.change.Unchanged = append(a.change.Unchanged, e.Key)
		}
	default:
		a.change, a.err = readChange(t, e.number)
		if a.err != nil && ledger.CodeOf(a.err) == "" {
			return a, a.err
		}
	}
	a.change.Repeated = a.err == nil
	return a, nil
}

// wasKept tells whether the batch is in the database, after its connection ended.
func (b *batch) wasKept(ctx context.Context) (kept bool, err error) {
	if !b.hasWrites() {
		return false, nil
	}
	first := b.made[0].Change
	for end := time.Now().Add(b.store.lookTimeout); ; {
		err = b.store.runWrite(ctx, func(t tx) error {
			if _, err := readHead(t, true); err != nil {
				return err
			}
			var digest string
			err := t.queryRow(`SELECT digest FROM changes WHERE number = $1`, first.Number).Scan(&digest)
			if errors.Is(err, sql.ErrNoRows) {
				err = nil
			}
			kept = digest == first.Digest
			return err
		})
		if err == nil || time.Now().After(end) {
			return kept, err
		}
		select {
		case <-b.store.closing.Done():
			return false, err
		case <-time.After(200 * time.Millisecond):
		}
	}
}
