package client

import (
	"context"
	"fmt"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// Propose implements ledger.Proposals. The token says who proposes, and the server makes the preview.
func (c *Client) Propose(ctx context.Context, d ledger.Draft, _ ledger.Preview) (ledger.Proposal, error) {
	return c.callProposal(ctx, postRequest(c.draftBody(d), "proposals").withIdempotencyKey(d.Request))
}

// Proposal implements ledger.Proposals. Values of Secrets are digests.
func (c *Client) Proposal(ctx context.Context, number int64) (ledger.Proposal, error) {
	return c.callProposal(ctx, getRequest("proposals", fmt.Sprint(number)))
}

// Proposals implements ledger.Proposals.
func (c *Client) Proposals(ctx context.Context, q ledger.ProposalsQuery) (ledger.ProposalsPage, error) {
	var page wire.ProposalPage
	err := c.doRequest(ctx, getRequest("proposals").withQuery("state", q.State).withQuery("change",
		q.Change).withQuery("limit", q.Limit).
		withQuery("after", q.After), &page)
	list := ledger.ProposalsPage{More: page.More}
	for _, p := range page.Proposals {
		list.Proposals = append(list.Proposals, p.ToLedger())
	}
	return list, err
}

// Answer implements ledger.Proposals. The token says who answers.
func (c *Client) Answer(ctx context.Context, number int64, a ledger.Answer) (ledger.Proposal, error) {
	verb := "approve"
	if !a.Approve {
		verb = "reject"
	}
	body := wire.AnswerBody{Message: a.Words, Preview: a.Preview}
	return c.callProposal(ctx, postRequest(body, "proposals", fmt.Sprint(number), verb))
}

// Withdraw implements ledger.Proposals. The token says who withdraws.
func (c *Client) Withdraw(ctx context.Context, number int64, _, why string) (ledger.Proposal, error) {
	return c.callProposal(ctx, postRequest(wire.AnswerBody{Message: why}, "proposals", fmt.Sprint(number), "withdraw"))
}

// Repreview implements ledger.Proposals. The server makes the preview.
func (c *Client) Repreview(ctx context.Context, number int64, _ ledger.Preview) (ledger.Proposal, error) {
	return c.callProposal(ctx, postRequest(nil, "proposals", fmt.Sprint(number), "preview"))
}

// CommitProposal commits a proposal. The server has its draft. bound, if not "", is the digest of the preview that it
// must have.
func (c *Client) CommitProposal(ctx context.Context, number int64, bound string) (change ledger.Change, err error) {
	r := postRequest(wire.CommitBody{Preview: bound}, "proposals", fmt.Sprint(number), "commit")
	r.repeatable = true // it is committed once, however often that is asked
	return change, c.doRequest(ctx, r, &change)
}

func (c *Client) callProposal(ctx context.Context, r request) (ledger.Proposal, error) {
	var p wire.Proposal
	if err := c.doRequest(ctx, r, &p); err != nil {
		return ledger.Proposal{}, err
	}
	return p.ToLedger(), nil
}
