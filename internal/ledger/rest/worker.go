package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// workerWait is how long a worker's question for news is kept open.
const workerWait = 25 * time.Second

// registerWorker are the questions of a cluster's worker. As its work, they are of its own cluster only.
func registerWorker(s *server, api huma.API) {
	only := map[string]any{workersMark: workersOnly}
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/clusters/{cluster}/status",
		Summary: "Query status of cluster", Metadata: only}, s.workerStatus)
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/clusters/{cluster}/retry",
		Summary: "Retry in cluster", Description: "What failed there is due now.", Metadata: only}, s.workerRetry)
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/clusters/{cluster}/targets",
		Summary: "List targets of cluster", Metadata: only}, s.workerTargets)
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/clusters/{cluster}/news",
		Summary: "Wait for news",
		Description: "Answers the number of the newest change: at once if it is another one than `after`, or when there is " +
			"one, or after a while. A hint that there may be work.", Metadata: only}, s.workerNews)
}

func (s *server) workerStatus(ctx context.Context, in *struct {
	Cluster string `path:"cluster"`
	Body    wire.StatusQuery
}) (*statusList, error) {
	q := ledger.StatusQuery(in.Body)
	q.Cluster = in.Cluster
	list, err := s.Ledger.Status(ctx, q)
	out := &statusList{}
	if out.Body.Objects = list; list == nil {
		out.Body.Objects = []ledger.Status{}
	}
	return out, err
}

func (s *server) workerRetry(ctx context.Context, in *struct {
	Cluster string `path:"cluster"`
	Body    wire.RetryBody
}) (*retried, error) {
	n, err := s.Ledger.Retry(ctx, in.Cluster, in.Body.Keys)
	out := &retried{}
	out.Body.Due = n
	return out, err
}

func (s *server) workerTargets(ctx context.Context, in *struct {
	Cluster string `path:"cluster"`
}) (*targetList, error) {
	clusters, err := s.Ledger.Clusters(ctx)
	if err != nil {
		return nil, err
	}
	targets, err := s.Ledger.Targets(ctx)
	if err != nil {
		return nil, err
	}
	out := &targetList{}
	out.Body.Targets = []ledger.Target{}
	for _, c := range clusters {
		for _, t := range targets {
			if c.Name == in.Cluster && t.ServedBy(c) {
				out.Body.Targets = append(out.Body.Targets, t)
			}
		}
	}
	return out, nil
}

type news struct {
	Body struct {
		Change int64 `json:"change" doc:"The newest change"`
	}
}

func (s *server) workerNews(ctx context.Context, in *struct {
	Cluster string `path:"cluster"`
	After   int64  `query:"after" minimum:"0"`
}) (*news, error) {
	out := &news{}
	head, err := s.Ledger.Head(ctx)
	if out.Body.Change = head.Change; err != nil || head.Change != in.After {
		return out, err
	}
	end, err := s.acquireSlot(ctx, Waiting)
	if err != nil {
		return nil, err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, workerWait)
	defer cancel()
	for change, err := range s.Ledger.Watch(ctx, in.After) {
		if err == nil {
			out.Body.Change = change.Number
		}
		break
	}
	return out, nil
}
