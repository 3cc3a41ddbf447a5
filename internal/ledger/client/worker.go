package client

import (
	"context"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// Worker is the ledger as a cluster's worker may ask it: about its own cluster, and nothing else.
type Worker struct {
	*Client
	cluster string
}

var _ ledger.Work = (*Worker)(nil)

// ForCluster asks with the token of a cluster's worker.
func (c *Client) ForCluster(cluster string) *Worker { return &Worker{c, cluster} }

// Status implements ledger.Work, of this cluster.
func (w *Worker) Status(ctx context.Context, q ledger.StatusQuery) ([]ledger.Status, error) {
	var answer struct {
		Objects []ledger.Status `json:"objects"`
	}
	q.Cluster = ""
	r := postRequest(wire.StatusQuery(q), "clusters", w.cluster, "status")
	r.repeatable = true
	err := w.doRequest(ctx, r, &answer)
	return answer.Objects, err
}

// Retry implements ledger.Work, in this cluster.
func (w *Worker) Retry(ctx context.Context, _ string, keys []ledger.Key) (int, error) {
	var answer struct {
		Due int `json:"due"`
	}
	err := w.doRequest(ctx, postRequest(wire.RetryBody{Keys: keys}, "clusters", w.cluster, "retry"), &answer)
	return answer.Due, err
}

// Targets are those that the cluster serves.
func (w *Worker) Targets(ctx context.Context) ([]ledger.Target, error) {
	var answer struct {
		Targets []ledger.Target `json:"targets"`
	}
	err := w.doRequest(ctx, getRequest("clusters", w.cluster, "targets"), &answer)
	return answer.Targets, err
}

// WaitForNews waits until another change than after is the newest, for some time, and answers its number. It is a hint.
func (w *Worker) WaitForNews(ctx context.Context, after int64) (int64, error) {
	var answer struct {
		Change int64 `json:"change"`
	}
	err := w.doRequest(ctx, getRequest("clusters", w.cluster, "news").withQuery("after", after), &answer)
	return answer.Change, err
}
