package ledgerpreview

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"cardea.dev/cardea/internal/core/ledger"
)

// Propose keeps a draft as a proposal, with the preview that it has now. Cardeas that can't be asked are in that, with
// why.
func (p *Previewer) Propose(ctx context.Context, d ledger.Draft) (ledger.Proposal, error) {
	made, err := p.Preview(ctx, d)
	if err != nil {
		return ledger.Proposal{}, err
	}
	return p.Ledger.Propose(ctx, d, made)
}

// CommitProposal commits a proposal for somebody, if it still does what was approved. If it would do something else, it
// becomes outdated, with the preview as it is now, and the error is Conflict. NotAsked is as with Commit. A proposal
// that was committed before answers that change. bound, if not "", is the digest of the preview that it must have.
func (p *Previewer) CommitProposal(ctx context.Context, number int64, by, bound string) (ledger.Change, error) {
	is, err := p.Ledger.Proposal(ctx, number)
	if err != nil {
		return ledger.Change{}, err
	}
	if is.State == ledger.Done {
		return p.again(ctx, is)
	}
	of := ledger.Proposed{Number: number, Preview: cmp.Or(bound, is.Preview.Digest), By: by}
	if _, err := is.CommittedAs(0, of, is.At); err != nil {
		return ledger.Change{}, err
	}
	d := is.Draft
	d.Author, d.Proposal = is.By, &of
	change, now, err := p.Commit(ctx, d, is.Preview.Digest)
	switch code := ledger.CodeOf(err); {
	case code == ledger.NotAsked:
		if e, ok := errors.AsType[*ledger.Error](err); ok {
			e.Fix = "try again when they can be asked"
		}
	case code == ledger.Conflict && now.Digest != is.Preview.Digest:
		return ledger.Change{}, p.outdated(ctx, is, now)
	case code == ledger.Conflict:
		// Somebody else may have committed it meanwhile.
		if is, failed := p.Ledger.Proposal(ctx, number); failed == nil && is.State == ledger.Done {
			return p.again(ctx, is)
		}
	}
	return change, err
}

// again answers the change of a proposal that was committed before.
func (p *Previewer) again(ctx context.Context, is ledger.Proposal) (ledger.Change, error) {
	change, err := p.Ledger.Change(ctx, is.Change)
	change.Repeated = err == nil
	return change, err
}

// outdated keeps the preview of a proposal that does something else by now, and is the error that says so.
func (p *Previewer) outdated(ctx context.Context, is ledger.Proposal, now ledger.Preview) error {
	after, err := p.Ledger.Repreview(ctx, is.Number, now)
	if err != nil {
		return err
	}
	e := is.Refuse(ledger.Conflict, "would do something else by now than what was approved",
		"look at its preview as it is now, and have that approved")
	if after.State == ledger.Approved {
		e.Message, e.Fix = "would do something else by now than its preview said", "look at it as it is now, and commit that"
	}
	return e
}

// Repreview gives a proposal the preview that it has by now. NotAsked if it is not whole: then the proposal stays as it
// is.
func (p *Previewer) Repreview(ctx context.Context, number int64) (ledger.Proposal, error) {
	is, err := p.Ledger.Proposal(ctx, number)
	if err != nil {
		return is, err
	}
	if _, err := is.Repreviewed(is.Preview); err != nil {
		return is, err
	}
	now, err := p.Preview(ctx, is.Draft)
	if err != nil {
		return is, err
	}
	if list := missing(now); len(list) > 0 {
		return is, is.Refuse(ledger.NotAsked, "could not be previewed for "+strings.Join(list, ", "),
			"try again when they can be asked")
	}
	return p.Ledger.Repreview(ctx, number, now)
}

// missing are the clusters that could not be asked, with why.
func missing(p ledger.Preview) (list []string) {
	for _, c := range p.Clusters {
		if c.NotPreviewed != "" {
			list = append(list, c.Cluster+" ("+c.NotPreviewed+")")
		}
	}
	return list
}
