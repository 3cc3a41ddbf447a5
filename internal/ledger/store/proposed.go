package store

import (
	"fmt"

	"cardea.dev/cardea/internal/core/ledger"
)

// proposals are those that drafts of a batch commit.
type proposals struct {
	read map[int64]wanted  // by number, as they are after the drafts before
	done []ledger.Proposal // that are committed
}

// wanted is a proposal, and what its draft wants.
type wanted struct {
	ledger.Proposal
	wants string
}

// check refuses a draft with objects of targets that are not there, one that has to be proposed, and the commit of a
// proposal that is not approved. Other errors are the database's.
func (b *batch) check(t tx, p prepared, state *ledger.State) error {
	if err := b.checkTargets(p); err != nil {
		return err
	}
	switch {
	case p.draft.Proposal != nil:
		return b.checkProposal(t, p, state.Head+1)
	case p.draft.Direct && !p.draft.DryRun && b.reg.approvalsFor(p.draft) > 0:
		return b.checkDirect(p, state)
	}
	return nil
}

// checkDirect refuses a draft that changes something of a target that needs approvals.
func (b *batch) checkDirect(p prepared, state *ledger.State) error {
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
		if needed := b.reg.targets[k.Target].Approvals; needed > 0 {
			return &ledger.Error{Code: ledger.Denied, Object: k.String(),
				Message: fmt.Sprintf("changes of target %s need approvals (%d), and are to be proposed", k.Target, needed),
				Fix:     "propose it: `cardea ledger propose` or --propose, or POST /ledger/v1/proposals"}
		}
	}
	return nil
}

// checkProposal refuses the commit of a proposal that is not approved, or was committed, also by a draft before.
func (b *batch) checkProposal(t tx, p prepared, number int64) error {
	of := *p.draft.Proposal
	is, known := b.proposals.read[of.Number]
	if !known {
		var err error
		if is.Proposal, is.wants, err = b.store.lightProposal(t, of.Number, !b.dry); err != nil {
			return err
		}
		if b.proposals.read == nil {
			b.proposals.read = map[int64]wanted{}
		}
		b.proposals.read[of.Number] = is
	}
	if is.wants != p.wants() || is.By != p.draft.Author {
		return &ledger.Error{Code: ledger.Conflict, Object: fmt.Sprintf("proposal %d", of.Number),
			Message: "wants something else than what is to be committed for it", Fix: "commit the proposal's own draft"}
	}
	_, err := is.CommittedAs(number, of, fromMicros(b.now))
	return err
}

// committed notes that a draft's change is what became of its proposal. A proposal that changes nothing by now is
// refused.
func (b *batch) committed(p prepared, c ledger.Change) error {
	if p.draft.Proposal == nil {
		return nil
	}
	of := *p.draft.Proposal
	if len(c.Edited) == 0 {
		return &ledger.Error{Code: ledger.Conflict, Object: fmt.Sprintf("proposal %d", of.Number),
			Message: "changes nothing: all is so by now", Fix: "withdraw it"}
	}
	if b.dry || p.draft.DryRun {
		return nil
	}
	is := b.proposals.read[of.Number]
	after, err := is.CommittedAs(c.Number, of, fromMicros(b.now))
	if err != nil {
		return err
	}
	is.Proposal = after
	b.proposals.read[of.Number], b.proposals.done = is, append(b.proposals.done, after)
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
