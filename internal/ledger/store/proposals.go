package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/ledger"
)

// Propose keeps a draft that others are to approve.
func (s *Store) Propose(ctx context.Context, d ledger.Draft, preview ledger.Preview) (made ledger.Proposal, err error) {
	request := d.Request
	blind := d.Blind
	d.Request, d.Head, d.DryRun, d.Direct, d.Blind, d.Proposal = "", 0, false, false, false, nil
	p, err := s.prepareDraft(ctx, d)
	switch {
	case err != nil:
		return made, err
	case d.Author == "":
		return made, &ledger.Error{Code: ledger.Invalid, Field: "author", Message: "a proposal has no author",
			Fix: "say who proposes it"}
	case !isText(request):
		return made, &ledger.Error{Code: ledger.Invalid, Field: "request",
			Message: "is not text: it has a NUL, or is not UTF-8"}
	}
	err = s.runWrite(ctx, func(t tx) error {
		h, err := readHead(t, true)
		if err != nil {
			return err
		}
		again, ok, err := repeatedProposal(t, p, request)
		if err != nil {
			return err
		}
		if ok {
			made = again
			return errors.Join(s.fillState(t, &made), s.loadDetails(t, &made))
		}
		if err := s.wouldCommit(t, p, blind); err != nil {
			return err
		}
		made = ledger.Proposal{By: d.Author, At: fromMicros(h.now), Message: d.Message, Draft: p.draft, Preview: preview,
			Base: preview.Head, Round: 1}
		made.Draft.Edits = plainEdits(p.edits)
		if err := t.queryRow("SELECT coalesce(max(number), 0) + 1 FROM proposals").Scan(&made.Number); err != nil {
			return err
		}
		if err := s.fillState(t, &made); err != nil {
			return err
		}
		return s.insertProposal(t, made, p, request)
	})
	return made, err
}

// wouldCommit refuses what Commit would refuse, and a draft that changes nothing: of a blind one, that is not told.
func (s *Store) wouldCommit(t tx, p preparedDraft, blind bool) error {
	b := &batch{store: s, drafts: []preparedDraft{p}, dryRun: true}
	if err := b.resolveDrafts(t); err != nil {
		return err
	}
	a := b.answers[0]
	if a.err == nil && len(a.change.Edited) == 0 && !blind {
		return &ledger.Error{Code: ledger.Invalid, Field: "edits", Message: "the proposal changes nothing",
			Fix: "propose something that the ledger does not have yet"}
	}
	return a.err
}

// Proposal is one proposal, with its draft and preview. If a Secret of it can't be opened, the error is Unprotected,
// and the proposal is there without that content.
func (s *Store) Proposal(ctx context.Context, number int64) (p ledger.Proposal, err error) {
	err = s.runRead(ctx, func(t tx) error {
		if p, _, err = s.readProposal(t, number, false); err != nil {
			return err
		}
		return s.loadDetails(t, &p)
	})
	return p, err
}

// readProposal reads a proposal without contents and preview, and what its draft wants.
func (s *Store) readProposal(t tx, number int64, locked bool) (p ledger.Proposal, wants string, err error) {
	text := "SELECT " + proposalColumns + " FROM proposals p WHERE p.number = $1"
	if locked {
		text += " {lock}"
	}
	found := false
	err = t.queryRows(func(rows *sql.Rows) error {
		found = true
		p, wants, err = scanProposal(rows)
		return err
	}, text, number)
	if err == nil && !found {
		err = &ledger.Error{Code: ledger.NotFound, Object: fmt.Sprintf("proposal %d", number),
			Message: "is not in the ledger"}
	}
	if err != nil {
		return p, "", err
	}
	return p, wants, s.fillState(t, &p)
}

// fillState finds how many approvals a proposal needs by now, and its state. A proposal that ended stays as it was
// then.
func (s *Store) fillState(t tx, p *ledger.Proposal) error {
	if p.Ended == nil {
		h, err := readHead(t, false)
		if err != nil {
			return err
		}
		r, err := s.registry.readAt(t, h.registry)
		if err != nil {
			return err
		}
		p.Needed = r.approvalsFor(p.Draft)
	}
	p.State = p.DeriveState()
	return nil
}

func (r *registry) approvalsFor(d ledger.Draft) int {
	targets := make([]ledger.Target, 0, len(r.names))
	for _, name := range r.names {
		targets = append(targets, r.targets[name])
	}
	return ledger.ApprovalsFor(d, targets)
}

// Proposals lists proposals.
func (s *Store) Proposals(ctx context.Context, q ledger.ProposalsQuery) (page ledger.ProposalsPage, err error) {
	if q.State != "" && !slices.Contains(ledger.ProposalStates, q.State) {
		return page, &ledger.Error{Code: ledger.Invalid, Field: "state", Message: "is not known: " + string(q.State),
			Fix: fmt.Sprintf("use one of %v", ledger.ProposalStates)}
	}
	n := pageSize(q.Limit)
	err = s.runRead(ctx, func(t tx) error {
		page = ledger.ProposalsPage{}
		if _, err := readClock(t); err != nil {
			return err
		}
		w, limit := whereBuilder{}, ""
		if q.After != 0 {
			w.addCondition("p.number < %s", q.After)
		}
		if q.Change != 0 {
			w.addCondition("p.change = %s", q.Change)
		}
		switch q.State {
		case "", ledger.Done, ledger.Rejected, ledger.Withdrawn:
			w.addEquals("p.state", string(q.State))
			limit = fmt.Sprintf(" LIMIT %d", n+1)
		default: // which of those that wait, approvals and targets say
			w.addCondition("p.state = %s", "")
		}
		var list []ledger.Proposal
		err := t.queryRows(func(rows *sql.Rows) error {
			p, _, err := scanProposal(rows)
			list = append(list, p)
			return err
		}, "SELECT "+proposalColumns+" FROM proposals p "+w.whereClause()+" ORDER BY p.number DESC"+limit, w.args...)
		if err != nil {
			return err
		}
		for i := range list {
			if err := s.fillState(t, &list[i]); err != nil {
				return err
			}
			if q.State == "" || list[i].State == q.State {
				page.Proposals = append(page.Proposals, list[i])
			}
		}
		return nil
	})
	if len(page.Proposals) > n {
		page.Proposals, page.More = page.Proposals[:n], true
	}
	return page, err
}

// Answer approves or rejects a proposal.
func (s *Store) Answer(ctx context.Context, number int64, a ledger.Answer) (ledger.Proposal, error) {
	if !isText(a.By + a.Words) {
		return ledger.Proposal{}, &ledger.Error{Code: ledger.Invalid, Field: "words", Message: "is not text"}
	}
	return s.moveProposal(ctx, number, func(p ledger.Proposal, now int64) (ledger.Proposal, error) {
		a.At = fromMicros(now)
		return p.WithAnswer(a)
	})
}

// Withdraw ends a proposal for its author.
func (s *Store) Withdraw(ctx context.Context, number int64, by, why string) (ledger.Proposal, error) {
	if !isText(why) {
		return ledger.Proposal{}, &ledger.Error{Code: ledger.Invalid, Field: "words", Message: "is not text"}
	}
	return s.moveProposal(ctx, number, func(p ledger.Proposal, now int64) (ledger.Proposal, error) {
		return p.WithWithdrawal(by, why, fromMicros(now))
	})
}

// Repreview gives a proposal the preview that it has by now.
func (s *Store) Repreview(ctx context.Context, number int64, now ledger.Preview) (ledger.Proposal, error) {
	return s.moveProposal(ctx, number, func(p ledger.Proposal, _ int64) (ledger.Proposal, error) {
		return p.WithPreview(now)
	})
}

// moveProposal changes a proposal, which nobody else does meanwhile. It needs no contents, so that a proposal can be
// withdrawn also if nobody can open its Secrets.
func (s *Store) moveProposal(ctx context.Context, number int64,
	move func(p ledger.Proposal, now int64) (ledger.Proposal, error)) (p ledger.Proposal, err error) {
	err = s.runWrite(ctx, func(t tx) error {
		now, err := readClock(t)
		if err != nil {
			return err
		}
		was, _, err := s.readProposal(t, number, true)
		if err != nil {
			return err
		}
		if p, err = move(was, now); err != nil {
			return err
		}
		return updateProposal(t, was, p)
	})
	return p, err
}
