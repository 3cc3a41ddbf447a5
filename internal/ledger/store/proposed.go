package store

import (
	"fmt"

	"cardea.dev/cardea/internal/core/ledger"
)

// batchProposals are those that drafts of a batch commit.
type batchProposals struct {
	known map[int64]knownProposal // by number, as they are after the drafts before
	done  []ledger.Proposal       // that are committed
}

// knownProposal is a proposal, and what its draft wants.
type knownProposal struct {
	ledger.Proposal
	wants string
}

// checkDraft refuses a draft with objects of targets that are not there, one that has to be proposed, and the commit of
// a proposal that is not approved. Other errors are the database's.
func (b *batch) checkDraft(t tx, p preparedDraft, state *ledger.LedgerState) error {
	if err := b.checkTargets(p); err != nil {
		return err
	}
	switch {
	case p.draft.Proposal != nil:
		return b.checkProposal(t, p, state.Head+1)
	case p.draft.Direct && !p.draft.DryRun && b.registry.approvalsFor(p.draft) > 0:
		return b.checkDirect(p, state)
	}
	return nil
}

// checkDirect refuses a draft that changes something of a target that needs approvals.
func (b *batch) checkDirect(p preparedDraft, state *ledger.LedgerState) error {
	p.draft.DryRun = true // the state stays
	w, err := ledger.Resolve(state, p.draft, p.edits)
	if err != nil {
		return err
	}
	var changed []ledger.Key
	for _, e := range w.Change.Edited {
		changed = append(changed, e.Key)
	}
	for _, k := range w.Change.Unchanged {
		if p.draft.Blind && k.IsSecret() {
			changed = append(changed, k)
		}
	}
	for _, k := range changed {
		if needed := b.registry.targets[k.Target].Approvals; needed > 0 {
			return &ledger.Error{Code: ledger.Denied, Object: k.String(),
				Message: fmt.Sprintf("changes of target %s need approvals (%d), and have to be proposed", k.Target, needed),
				Fix:     "propose it: `cardea ledger propose` or --propose, or POST /ledger/v1/proposals"}
		}
	}
	return nil
}

// checkProposal refuses the commit of a proposal that is not approved, or was committed, also by a draft before.
func (b *batch) checkProposal(t tx, p preparedDraft, number int64) error {
	of := *p.draft.Proposal
	is, known := b.proposals.known[of.Number]
	if !known {
		var err error
		if is.Proposal, is.wants, err = b.store.readProposal(t, of.Number, !b.dryRun); err != nil {
			return err
		}
		if b.proposals.known == nil {
			b.proposals.known = map[int64]knownProposal{}
		}
		b.proposals.known[of.Number] = is
	}
	if is.wants != p.proposalHash() || is.By != p.draft.Author {
		return &ledger.Error{Code: ledger.Conflict, Object: fmt.Sprintf("proposal %d", of.Number),
			Message: "differs from the draft that is to be committed for it", Fix: "commit the proposal's own draft"}
	}
	_, err := is.WithCommit(number, of, fromMicros(b.now))
	return err
}

// noteCommitted notes that a draft's change is what became of its proposal. A proposal that changes nothing by now is
// refused.
func (b *batch) noteCommitted(p preparedDraft, c ledger.Change) error {
	if p.draft.Proposal == nil {
		return nil
	}
	of := *p.draft.Proposal
	if len(c.Edited) == 0 {
		return &ledger.Error{Code: ledger.Conflict, Object: fmt.Sprintf("proposal %d", of.Number),
			Message: "changes nothing: the ledger has all of it already", Fix: "withdraw it"}
	}
	if b.dryRun || p.draft.DryRun {
		return nil
	}
	is := b.proposals.known[of.Number]
	after, err := is.WithCommit(c.Number, of, fromMicros(b.now))
	if err != nil {
		return err
	}
	is.Proposal = after
	b.proposals.known[of.Number], b.proposals.done = is, append(b.proposals.done, after)
	return nil
}

// writeProposals marks proposals that were committed, in the transaction of their changes.
func (b *batch) writeProposals(t tx) error {
	for _, p := range b.proposals.done {
		if err := endProposal(t, p); err != nil {
			return err
		}
	}
	return nil
}
