package client

import (
	"context"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// Claim implements ledger.Work. The token must be of the cluster's worker, as for Record, Fail, Observe and Report.
func (c *Client) Claim(ctx context.Context, q ledger.ClaimQuery) ([]ledger.Claim, error) {
	var answer struct {
		Claims []wire.Claim `json:"claims"`
	}
	seconds := int((q.Lease + time.Second - 1) / time.Second)
	err := c.doRequest(ctx, postRequest(wire.ClaimBody{Worker: q.Worker, Max: q.Max, LeaseSeconds: seconds, Seen: q.Seen},
		"clusters",
		q.Cluster, "claims"), &answer)
	list := make([]ledger.Claim, 0, len(answer.Claims))
	for _, w := range answer.Claims {
		list = append(list, ledger.Claim{Object: w.Object, Cluster: q.Cluster, Lease: w.Lease, Attempts: w.Attempts,
			Applied: w.Applied, Target: w.Target, Until: w.Until, Head: w.Head, Ahead: w.Ahead})
	}
	return list, err
}

// Record implements ledger.Work.
func (c *Client) Record(ctx context.Context, r ledger.Result) (bool, error) {
	return c.postResults(ctx, r.Cluster, "results", []ledger.Result{r})
}

// Fail implements ledger.Work.
func (c *Client) Fail(ctx context.Context, f ledger.Failure) (bool, error) {
	return c.postResults(ctx, f.Cluster, "failures", []ledger.Failure{f})
}

func (c *Client) postResults(ctx context.Context, cluster, what string, list any) (bool, error) {
	var answer struct {
		Taken []bool `json:"taken"`
	}
	err := c.doRequest(ctx, postRequest(map[string]any{what: list}, "clusters", cluster, what), &answer)
	return len(answer.Taken) > 0 && answer.Taken[0], err
}

// Retry implements ledger.Work.
func (c *Client) Retry(ctx context.Context, cluster string, keys []ledger.Key) (int, error) {
	var answer struct {
		Due int `json:"due"`
	}
	err := c.doRequest(ctx, postRequest(wire.RetryBody{Cluster: cluster, Keys: keys}, "retry"), &answer)
	return answer.Due, err
}

// Observe implements ledger.Work.
func (c *Client) Observe(ctx context.Context, cluster string, list []ledger.Observation) error {
	return c.doRequest(ctx, postRequest(map[string]any{"observations": list}, "clusters", cluster, "observations"), nil)
}

// ReportAnswers implements ledger.Work.
func (c *Client) ReportAnswers(ctx context.Context, list []ledger.Live) error {
	return c.doRequest(ctx, postRequest(map[string]any{"live": list}, "live"), nil)
}

// RecordReader implements ledger.Work. The token must be of a worker with the Cardea's name.
func (c *Client) RecordReader(ctx context.Context, r ledger.Reading) (holder ledger.Reading, err error) {
	err = c.doRequest(ctx, putRequest(wire.ReadingBody{Instance: r.Instance}, "clusters", r.Name, "reads", r.Target),
		&holder)
	return holder, err
}

// RemoveReader implements ledger.Work.
func (c *Client) RemoveReader(ctx context.Context, r ledger.Reading) error {
	return c.doRequest(ctx, deleteRequest("clusters", r.Name, "reads", r.Target).withQuery("instance", r.Instance), nil)
}

// Status implements ledger.Work.
func (c *Client) Status(ctx context.Context, q ledger.StatusQuery) ([]ledger.Status, error) {
	var answer struct {
		Objects []ledger.Status `json:"objects"`
	}
	r := postRequest(wire.StatusQuery(q), "status", "query")
	r.repeatable = true
	err := c.doRequest(ctx, r, &answer)
	return answer.Objects, err
}
