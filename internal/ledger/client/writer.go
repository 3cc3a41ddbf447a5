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
	body := c.body(d)
	body.IfPreview = ifPreview
	return change, c.call(ctx, post(body, "changes").once(d.Request), &change)
}

func (c *Client) body(d ledger.Draft) wire.Draft {
	b := wire.DraftOf(d)
	b.Via = cmp.Or(b.Via, c.config.Via)
	return b
}

// Preview asks what a draft would do in the proxies.
func (c *Client) Preview(ctx context.Context, d ledger.Draft) (p wire.Preview, err error) {
	r := post(c.body(d), "preview")
	r.reads = true
	return p, c.call(ctx, r, &p)
}

// askFor is how long one request of Wait waits at the server: shorter than what proxies in between allow.
const askFor = 20 * time.Second

// Wait waits until a change is live or applied, or was refused, or failed for good, and answers what became of it. With
// live, it waits for the proxies of clusters, too. When ctx ends, the answer is what is known by then, with ctx's
// error.
func (c *Client) Wait(ctx context.Context, number int64, live bool) (status wire.ChangeStatus, err error) {
	for {
		r := get("changes", fmt.Sprint(number), "status").with("wait", askFor)
		if live {
			r = r.with("for", "live")
		}
		var now wire.ChangeStatus
		began := time.Now()
		if err = c.call(ctx, r, &now); err != nil {
			return status, err
		}
		status = now
		if time.Since(began) < askFor {
			return status, nil // the server did not wait to the end: the state is final
		}
		if ctx.Err() != nil {
			return status, ctx.Err()
		}
	}
}

// StatusOf is what became of a change by now.
func (c *Client) StatusOf(ctx context.Context, number int64) (status wire.ChangeStatus, err error) {
	return status, c.call(ctx, get("changes", fmt.Sprint(number), "status"), &status)
}
