package client

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// Commit implements ledger.Writer. The token says who the author is, whatever the draft says.
func (c *Client) Commit(ctx context.Context, d ledger.Draft) (ledger.Change, error) {
	return c.CommitIf(ctx, d, "")
}

// CommitIf commits a draft if it would still do what the preview with a digest said; "": in any case.
func (c *Client) CommitIf(ctx context.Context, d ledger.Draft, ifPreview string) (change ledger.Change, err error) {
	if of := d.Proposal; of != nil {
		return c.CommitProposal(ctx, of.Number, of.Preview)
	}
	body := c.draftBody(d)
	body.IfPreview = ifPreview
	return change, c.doRequest(ctx, postRequest(body, "changes").withIdempotencyKey(d.Request), &change)
}

func (c *Client) draftBody(d ledger.Draft) wire.Draft {
	b := wire.DraftOf(d)
	b.Via = cmp.Or(b.Via, c.config.Via)
	return b
}

// Preview asks what a draft would do in the proxies.
func (c *Client) Preview(ctx context.Context, d ledger.Draft) (p wire.Preview, err error) {
	r := postRequest(c.draftBody(d), "preview")
	r.repeatable = true
	return p, c.doRequest(ctx, r, &p)
}

// waitInterval is how long one request of Wait waits at the server: shorter than what proxies in between allow.
const waitInterval = 20 * time.Second

// WaitForChange waits until a change is live or applied, or was refused, or failed for good, and answers what became of
// it. With live, it waits for the proxies of clusters, too. When ctx ends, the answer is what is known by then, with
// ctx's error.
func (c *Client) WaitForChange(ctx context.Context, number int64, live bool) (status wire.ChangeStatus, err error) {
	for {
		r := getRequest("changes", fmt.Sprint(number), "status").withQuery("wait", waitInterval)
		if live {
			r = r.withQuery("for", "live")
		}
		var now wire.ChangeStatus
		began := time.Now()
		if err = c.doRequest(ctx, r, &now); err != nil {
			return status, err
		}
		status = now
		if time.Since(began) < waitInterval {
			return status, nil // the server did not wait to the end: the state is final
		}
		if ctx.Err() != nil {
			return status, ctx.Err()
		}
	}
}

// StatusOf is what became of a change by now.
func (c *Client) StatusOf(ctx context.Context, number int64) (status wire.ChangeStatus, err error) {
	return status, c.doRequest(ctx, getRequest("changes", fmt.Sprint(number), "status"), &status)
}
