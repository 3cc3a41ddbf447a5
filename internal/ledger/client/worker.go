package client

import (
	"context"

	"cardea.dev/cardea/internal/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// Worker is a ledger as the worker of one cluster sees it, with the token of that: ledger.Work, of this cluster.
type Worker struct {
	*Client
	cluster string
}

// Worker is the ledger as a cluster's worker sees it.
func (c *Client) Worker(cluster string) *Worker { return &Worker{c, cluster} }

// Targets lists the targets that the cluster serves.
func (w *Worker) Targets(ctx context.Context) ([]ledger.Target, error) {
	var answer struct {
		Targets []ledger.Target `json:"targets"`
	}
	err := w.call(ctx, get("clusters", w.cluster, "targets"), &answer)
	return answer.Targets, err
}

// Status implements ledger.Work.
func (w *Worker) Status(ctx context.Context, q ledger.StatusQuery) ([]ledger.Status, error) {
	var answer struct {
		Objects []ledger.Status `json:"objects"`
	}
	r := post(wire.StatusQuery(q), "clusters", w.cluster, "status")
	r.reads = true
	err := w.call(ctx, r, &answer)
	return answer.Objects, err
}

// Retry implements ledger.Work.
func (w *Worker) Retry(ctx context.Context, _ string, keys []ledger.Key) (int, error) {
	var answer struct {
		Due int `json:"due"`
	}
	err := w.call(ctx, post(wire.RetryBody{Cluster: w.cluster, Keys: keys}, "clusters", w.cluster, "retry"), &answer)
	return answer.Due, err
}
