package rest

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"cardea.dev/cardea/internal/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// worker are the endpoints by which a cluster's worker finds out what is wanted of the cluster, and what was done.
func worker(s *server, api huma.API) {
	only := map[string]any{workers: workersOnly}
	handle(s, api, huma.Operation{Method: http.MethodGet, Path: "/clusters/{cluster}/targets",
		Summary: "List targets of cluster", Metadata: only}, s.targetsOf)
	handle(s, api, huma.Operation{Method: http.MethodPost, Path: "/clusters/{cluster}/status",
		Summary: "Query status in cluster", Metadata: only}, s.statusIn)
	handle(s, api, huma.Operation{Method: http.MethodPost, Path: "/clusters/{cluster}/retry",
		Summary: "Retry in cluster", Metadata: only}, s.retryIn)
}

// targetsOf are the targets that the cluster serves.
func (s *server) targetsOf(ctx context.Context, in *struct {
	Cluster string `path:"cluster"`
}) (*targetList, error) {
	all, err := s.Ledger.Targets(ctx)
	if err != nil {
		return nil, err
	}
	clusters, err := s.Ledger.Clusters(ctx)
	out := &targetList{}
	out.Body.Targets = []ledger.Target{}
	for _, c := range clusters {
		for _, t := range all {
			if c.Name == in.Cluster && t.Has(c) {
				out.Body.Targets = append(out.Body.Targets, t)
			}
		}
	}
	return out, err
}

type statusesInCluster struct {
	Body struct {
		Objects []ledger.Status `json:"objects"`
	}
}

func (s *server) statusIn(ctx context.Context, in *struct {
	Cluster string `path:"cluster"`
	Body    wire.StatusQuery
}) (*statusesInCluster, error) {
	q := ledger.StatusQuery(in.Body)
	q.Cluster = in.Cluster
	list, err := s.Ledger.Status(ctx, q)
	out := &statusesInCluster{}
	out.Body.Objects = append([]ledger.Status{}, list...)
	return out, err
}

func (s *server) retryIn(ctx context.Context, in *struct {
	Cluster string `path:"cluster"`
	Body    wire.RetryBody
}) (*retried, error) {
	n, err := s.Ledger.Retry(ctx, in.Cluster, in.Body.Keys)
	out := &retried{}
	out.Body.Due = n
	return out, err
}
