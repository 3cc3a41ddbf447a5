package rest

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// registerWork are the endpoints of a cluster's worker. All that they take belongs to the cluster in the path, which is
// the worker's own (guard.go), whatever the body says.
func registerWork(s *server, api huma.API) {
	only := map[string]any{workersMark: workersOnly}
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/clusters/{cluster}/claims", Summary: "Claim work",
		Description: "Secrets are answered with their values here, and nowhere else.", Metadata: only}, s.claimWork)
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/clusters/{cluster}/results",
		Summary: "Record results", Metadata: only}, s.recordResults)
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/clusters/{cluster}/failures",
		Summary: "Record failures", Metadata: only}, s.recordFailures)
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/clusters/{cluster}/observations",
		Summary: "Record observations", Metadata: only}, s.recordObservations)
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/live", Summary: "Report what proxies said",
		Metadata: only}, s.reportLive)
	addOperation(s, api, huma.Operation{Method: http.MethodPut, Path: "/clusters/{cluster}/reads/{target}",
		Summary: "Say that a Cardea reads target", Metadata: only,
		Description: "Answers who has the name: another instance, if that said so lately."}, s.putReading)
	addOperation(s, api, huma.Operation{Method: http.MethodDelete, Path: "/clusters/{cluster}/reads/{target}",
		Summary: "Say that a Cardea reads target no more", Metadata: only}, s.deleteReading)
}

type claims struct {
	CacheControl string `header:"Cache-Control"`
	Body         struct {
		Claims []wire.Claim `json:"claims"`
	}
}

func (s *server) claimWork(ctx context.Context, in *struct {
	Cluster string `path:"cluster"`
	Body    wire.ClaimBody
}) (*claims, error) {
	list, err := s.Ledger.Claim(ctx, ledger.ClaimQuery{Cluster: in.Cluster, Worker: in.Body.Worker, Max: in.Body.Max,
		Lease: time.Duration(in.Body.LeaseSeconds) * time.Second, Seen: in.Body.Seen})
	if err != nil {
		return nil, err
	}
	out := &claims{CacheControl: "no-store"}
	out.Body.Claims = []wire.Claim{}
	for _, c := range list {
		out.Body.Claims = append(out.Body.Claims, wire.Claim{Object: c.Object, Lease: c.Lease, Attempts: c.Attempts,
			Applied: c.Applied, Target: c.Target, Until: c.Until, Head: c.Head, Ahead: c.Ahead})
	}
	return out, nil
}

// taken says which of the results or failures counted; the others came after somebody else's.
type taken struct {
	Body struct {
		Taken []bool `json:"taken"`
	}
}

func (s *server) recordResults(ctx context.Context, in *struct {
	Cluster string `path:"cluster"`
	Body    struct {
		Results []ledger.Result `json:"results" maxItems:"1000"`
	}
}) (*taken, error) {
	return recordEach(in.Body.Results, func(r ledger.Result) (bool, error) {
		r.Cluster = in.Cluster
		return s.Ledger.Record(ctx, r)
	})
}

func (s *server) recordFailures(ctx context.Context, in *struct {
	Cluster string `path:"cluster"`
	Body    struct {
		Failures []ledger.Failure `json:"failures" maxItems:"1000"`
	}
}) (*taken, error) {
	return recordEach(in.Body.Failures, func(f ledger.Failure) (bool, error) {
		f.Cluster = in.Cluster
		return s.Ledger.Fail(ctx, f)
	})
}

func recordEach[T any](list []T, do func(T) (bool, error)) (*taken, error) {
	out := &taken{}
	out.Body.Taken = []bool{}
	for _, item := range list {
		ok, err := do(item)
		if err != nil {
			return nil, err
		}
		out.Body.Taken = append(out.Body.Taken, ok)
	}
	return out, nil
}

func (s *server) recordObservations(ctx context.Context, in *struct {
	Cluster string `path:"cluster"`
	Body    struct {
		Observations []ledger.Observation `json:"observations" maxItems:"10000"`
	}
}) (*noBody, error) {
	return nil, s.Ledger.Observe(ctx, in.Cluster, in.Body.Observations)
}

func (s *server) reportLive(ctx context.Context, in *struct {
	Body struct {
		Live []ledger.Live `json:"live" maxItems:"10000"`
	}
}) (*noBody, error) {
	own, list := requestInfoOf(ctx).caller.Cluster, in.Body.Live
	serves, err := s.servedTargets(ctx, own)
	if err != nil {
		return nil, err
	}
	for _, l := range list {
		if l.Cluster != own {
			return nil, s.denyRequest(ctx, workPermission, l.Key,
				"the token of cluster "+own+" may not report for cluster "+l.Cluster,
				"report for "+own)
		}
		if !serves(l.Target) {
			return nil, s.denyRequest(ctx, workPermission, l.Key, "cluster "+own+" does not serve target "+l.Target,
				"report objects of targets that it serves")
		}
	}
	return nil, s.Ledger.ReportAnswers(ctx, list)
}

// putReading takes that a standalone Cardea reads a target. From then on no change is live before this Cardea says so,
// so it must serve the target.
func (s *server) putReading(ctx context.Context, in *struct {
	Cluster string `path:"cluster"`
	Target  string `path:"target"`
	Body    wire.ReadingBody
}) (*struct{ Body ledger.Reading }, error) {
	serves, err := s.servedTargets(ctx, in.Cluster)
	if err != nil {
		return nil, err
	}
	if !serves(in.Target) {
		return nil, s.denyRequest(ctx, workPermission, ledger.Key{Target: in.Target},
			"cluster "+in.Cluster+" does not serve target "+in.Target, "read a target that it serves")
	}
	holder, err := s.Ledger.RecordReader(ctx, ledger.Reading{Target: in.Target, Name: in.Cluster,
		Instance: in.Body.Instance})
	return &struct{ Body ledger.Reading }{holder}, err
}

func (s *server) deleteReading(ctx context.Context, in *struct {
	Cluster  string `path:"cluster"`
	Target   string `path:"target"`
	Instance string `query:"instance" required:"true"`
}) (*noBody, error) {
	return nil, s.Ledger.RemoveReader(ctx, ledger.Reading{Target: in.Target, Name: in.Cluster, Instance: in.Instance})
}

// servedTargets tells which targets a cluster serves: it has all labels that they ask for. A standalone Cardea that is
// not registered has no labels, and serves those that proxies read themselves.
func (s *server) servedTargets(ctx context.Context, cluster string) (func(target string) bool, error) {
	targets, err := s.targetsByName(ctx)
	if err != nil {
		return nil, err
	}
	list, err := s.Ledger.Clusters(ctx)
	i := slices.IndexFunc(list, func(c ledger.Cluster) bool { return c.Name == cluster })
	return func(target string) bool {
		t, ok := targets[target]
		if !ok || i < 0 && t.Server != ledger.Proxies {
			return false
		}
		for label, value := range t.Clusters {
			if i < 0 || list[i].Labels[label] != value {
				return false
			}
		}
		return true
	}, err
}
