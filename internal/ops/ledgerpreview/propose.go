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
		return p.readCommitted(ctx, is)
	}
	of := ledger.Proposed{Number: number, Preview: cmp.Or(bound, is.Preview.Digest), By: by}
	if _, err := is.WithCommit(0, of, is.At); err != nil {
		return ledger.Change{}, err
	}
	d := is.Draft
	d.Author, d.Proposal = is.By, &of
	change, now, err := p.CommitPreviewed(ctx, d, is.Preview.Digest)
	switch code := ledger.CodeOf(err); {
	case code == ledger.NotAsked:
		if e, ok := errors.AsType[*ledger.Error](err); ok {
			e.Fix = "try again when they can be asked"
		}
	case code == ledger.Conflict && now.Digest != is.Preview.Digest:
		return ledger.Change{}, p.markOutdated(ctx, is, now)
	case code == ledger.Conflict:
		// Somebody else may have committed it meanwhile.
		if is, failed := p.Ledger.Proposal(ctx, number); failed == nil && is.State == ledger.Done {
			return p.readCommitted(ctx, is)
		}
	}
	return change, err
}

// readCommitted answers the change of a proposal that was committed before.
func (p *Previewer) readCommitted(ctx context.Context, is ledger.Proposal) (ledger.Change, error) {
	change, err := p.Ledger.Change(ctx, is.Change)
	change.Repeated = err == nil
	return change, err
}

// markOutdated keeps the preview of a proposal that does something else by now, and is the error that says so.
func (p *Previewer) markOutdated(ctx context.Context, is ledger.Proposal, now ledger.Preview) error {
	after, err := p.Ledger.Repreview(ctx, is.Number, now)
	if err != nil {
		return err
	}
	e := is.NewError(ledger.Conflict, "would no longer do what was approved",
		"look at its new preview, and have that approved")
	if after.State == ledger.Approved {
		e.Message, e.Fix = "would no longer do what its preview showed", "look at its new preview, and commit that"
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
	if _, err := is.WithPreview(is.Preview); err != nil {
		return is, err
	}
	now, err := p.Preview(ctx, is.Draft)
	if err != nil {
		return is, err
	}
	if list := listUnpreviewed(now); len(list) > 0 {
		return is, is.NewError(ledger.NotAsked, "could not be previewed for "+strings.Join(list, ", "),
			"try again when they can be asked")
	}
	return p.Ledger.Repreview(ctx, number, now)
}

// listUnpreviewed are the clusters that could not be asked, with why.
func listUnpreviewed(p ledger.Preview) (list []string) {
	for _, c := range p.Clusters {
		if c.NotPreviewed != "" {
			list = append(list, c.Cluster+" ("+c.NotPreviewed+")")
		}
	}
	return list
}
