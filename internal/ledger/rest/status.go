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

// A waiting request looks first after waitFirst, then in growing steps up to waitMost.
const (
	waitFirst = 50 * time.Millisecond
	waitMost  = time.Second
	waitLimit = 10 * time.Minute // that a request may wait
)

func registerStatuses(s *server, api huma.API) {
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/changes/{number}/status",
		Summary: "Get status of change"}, s.changeStatus)
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/status", Summary: "List status"}, s.listStatus)
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/status/query", Summary: "Query status"},
		s.queryStatus)
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/retry", Summary: "Retry",
		Description: "What failed is due now.", Metadata: map[string]any{checkKey: anyOf(ledger.MayWrite)}}, s.retryWork)
}

type changeStatus struct{ Body wire.ChangeStatus }

func (s *server) changeStatus(ctx context.Context, in *struct {
	Number int64  `path:"number" minimum:"1"`
	Wait   string `query:"wait" example:"30s" doc:"Answer when it is applied, live, refused or superseded; or then"`
	For    string `query:"for" enum:"applied,live" doc:"What to wait for: live waits for proxies of clusters, too"`
}) (*changeStatus, error) {
	wait, err := time.ParseDuration("0" + in.Wait)
	if err != nil || wait < 0 || wait > waitLimit {
		return nil, &ledger.Error{Code: ledger.Invalid, Field: "wait", Message: "is no duration up to 10m: " + in.Wait,
			Fix: "write it as 30s"}
	}
	c, err := s.readChange(ctx, in.Number)
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		end, err := s.acquireSlot(ctx, Waiting)
		if err != nil {
			return nil, err
		}
		defer end()
	}
	until, step := time.NewTimer(wait), waitFirst
	defer until.Stop()
	for {
		out, err := s.statusOf(ctx, c)
		if err != nil {
			return nil, err
		}
		stage := out.Body.State
		final := (ledger.Progress{Stage: stage}).IsFinal() || stage == ledger.IsApplied && in.For != string(ledger.IsLive)
		if wait == 0 || final {
			return out, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-until.C:
			return out, nil
		case <-time.After(step):
			step = min(step*3/2, waitMost)
		}
	}
}

// statusOf is what became of a change by now. It counts only the objects that are left in the change.
func (s *server) statusOf(ctx context.Context, c ledger.Change) (*changeStatus, error) {
	keys := map[ledger.Key]bool{}
	for _, e := range c.Edited {
		keys[e.Key] = true
	}
	list, err := s.Ledger.Status(ctx, ledger.StatusQuery{Change: c.Number, Limit: ledger.MaxEdits})
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(o ledger.Status) bool { return !keys[o.Key] })
	for i := range list {
		withoutResults(&list[i])
	}
	stage, why := describeOutcome(c, list)
	if stage == ledger.Superseded {
		if why, err = refusedBefore(ctx, s.Ledger, c, list); err != nil {
			return nil, err
		}
	}
	return &changeStatus{wire.ChangeStatus{Change: c.Number, State: stage, Why: why, Objects: list, Hidden: c.Hidden}}, nil
}

func (s *server) targetsByName(ctx context.Context) (map[string]ledger.Target, error) {
	list, err := s.Ledger.Targets(ctx)
	byName := map[string]ledger.Target{}
	for _, t := range list {
		byName[t.Name] = t
	}
	return byName, err
}

type statusList struct {
	Body struct {
		Objects []ledger.Status `json:"objects"`
	}
}

func (s *server) listStatus(ctx context.Context, in *struct {
	Change    int64  `query:"change" minimum:"0" doc:"What this change edited"`
	Cluster   string `query:"cluster"`
	Pending   bool   `query:"pending" doc:"Only what is not applied or not live"`
	Limit     int    `query:"limit" minimum:"0"`
	Target    string `query:"target" doc:"With kind and name: of this object"`
	Kind      string `query:"kind"`
	Namespace string `query:"namespace"`
	Name      string `query:"name"`
}) (*statusList, error) {
	q := ledger.StatusQuery{Change: in.Change, Cluster: in.Cluster, Pending: in.Pending, Limit: in.Limit}
	if in.Name != "" {
		k := s.keyOf(ObjectPathParams{Target: in.Target, Kind: in.Kind, Namespace: in.Namespace, Name: in.Name})
		q.Keys = []ledger.Key{k}
	}
	return s.readStatus(ctx, q)
}

func (s *server) queryStatus(ctx context.Context, in *struct{ Body wire.StatusQuery }) (*statusList, error) {
	return s.readStatus(ctx, ledger.StatusQuery(in.Body))
}

func (s *server) readStatus(ctx context.Context, q ledger.StatusQuery) (*statusList, error) {
	if q.Change == 0 { // what one change edited is bounded
		if err := s.refuseLarge(ctx, "", max(q.Limit, len(q.Keys))); err != nil {
			return nil, err
		}
	}
	list, err := s.Ledger.Status(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &statusList{}
	for i := range list {
		withoutResults(&list[i])
	}
	out.Body.Objects, err = filterReadable(ctx, s, list, func(o ledger.Status) ledger.Key { return o.Key })
	return out, err
}

// withoutResults leaves out by what a worker compares an object: of a Secret, likely values could be tried out with it.
func withoutResults(o *ledger.Status) {
	for i := range o.Clusters {
		if a := o.Clusters[i].Applied; a != nil {
			kept := *a
			kept.Result = ""
			o.Clusters[i].Applied = &kept
		}
	}
}

type retried struct {
	Body struct {
		Due int `json:"due" doc:"How many objects are due now"`
	}
}

func (s *server) retryWork(ctx context.Context, in *struct{ Body wire.RetryBody }) (*retried, error) {
	keys := in.Body.Keys
	asked := keys
	if len(asked) == 0 {
		asked = []ledger.Key{{}} // all objects: a grant that is limited to some does not do
	}
	for _, k := range asked {
		if err := s.checkPermission(ctx, ledger.MayWrite, k); err != nil {
			return nil, err
		}
	}
	n, err := s.Ledger.Retry(ctx, in.Body.Cluster, keys)
	out := &retried{}
	out.Body.Due = n
	return out, err
}
