package rest

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"cardea.dev/cardea/internal/core/ledger"
)

func registerClusters(s *server, api huma.API) {
	admins := map[string]any{checkKey: bodyCheck(checkAdmin)}
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/targets", Summary: "List targets"}, s.listTargets)
	addOperation(s, api, huma.Operation{Method: http.MethodPut, Path: "/targets/{target}", Summary: "Put target",
		Metadata: admins}, s.putTarget)
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/clusters", Summary: "List clusters"},
		s.listClusters)
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/clusters/{cluster}", Summary: "Get cluster",
		Metadata: map[string]any{workersMark: workersToo}}, s.getCluster)
	addOperation(s, api, huma.Operation{Method: http.MethodPut, Path: "/clusters/{cluster}", Summary: "Put cluster",
		Metadata: admins},
		s.putCluster)
	addOperation(s, api, huma.Operation{Method: http.MethodDelete, Path: "/clusters/{cluster}", Summary: "Delete cluster"},
		s.deleteCluster)
}

type targetList struct {
	Body struct {
		Targets []ledger.Target `json:"targets"`
	}
}

func (s *server) listTargets(ctx context.Context, _ *struct{}) (*targetList, error) {
	list, err := s.Ledger.Targets(ctx)
	out := &targetList{}
	out.Body.Targets = list
	return out, err
}

type noBody struct{}

func (s *server) putTarget(ctx context.Context, in *struct {
	Name string        `path:"target" maxLength:"253"`
	Body ledger.Target `doc:"Its name is the path's"`
}) (*noBody, error) {
	if err := s.checkPermission(ctx, ledger.MayAdmin, ledger.Key{}); err != nil {
		return nil, err
	}
	if in.Body.Name != in.Name {
		return nil, otherName("target")
	}
	return nil, s.Ledger.SetTarget(ctx, in.Body, requestInfoOf(ctx).caller.Subject)
}

func otherName(what string) error {
	return &ledger.Error{Code: ledger.Invalid, Field: "name", Message: "is not the name of the " + what + " in the path",
		Fix: "make them agree"}
}

type clusterList struct {
	Body struct {
		Clusters []ledger.Cluster `json:"clusters"`
	}
}

func (s *server) listClusters(ctx context.Context, _ *struct{}) (*clusterList, error) {
	list, err := s.Ledger.Clusters(ctx)
	if err != nil {
		return nil, err
	}
	out := &clusterList{}
	out.Body.Clusters, err = s.showClusters(ctx, list)
	return out, err
}

// showClusters leaves out how clusters are reached, unless the caller administers them.
func (s *server) showClusters(ctx context.Context, list []ledger.Cluster) ([]ledger.Cluster, error) {
	admin, err := s.isAllowed(ctx, ledger.MayAdmin, ledger.Key{})
	list = slices.Clone(list)
	for i := range list {
		if !admin {
			list[i].Kubeconfig, list[i].Context, list[i].Admin = "", "", ""
		}
	}
	return list, err
}

type oneCluster struct{ Body ledger.Cluster }

func (s *server) getCluster(ctx context.Context, in *struct {
	Cluster string `path:"cluster"`
}) (*oneCluster, error) {
	list, err := s.Ledger.Clusters(ctx)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(c ledger.Cluster) bool { return c.Name != in.Cluster })
	if len(list) == 0 {
		return nil, &ledger.Error{Code: ledger.NotFound, Object: "cluster " + in.Cluster, Message: "is not registered",
			Fix: "an administrator registers it with PUT"}
	}
	list, err = s.showClusters(ctx, list)
	return &oneCluster{list[0]}, err
}

func (s *server) putCluster(ctx context.Context, in *struct {
	Cluster string `path:"cluster" maxLength:"253"`
	Body    ledger.Cluster
}) (*noBody, error) {
	if err := s.checkPermission(ctx, ledger.MayAdmin, ledger.Key{}); err != nil {
		return nil, err
	}
	if in.Body.Name != in.Cluster {
		return nil, otherName("cluster")
	}
	return nil, s.Ledger.SetCluster(ctx, in.Body, requestInfoOf(ctx).caller.Subject)
}

func (s *server) deleteCluster(ctx context.Context, in *struct {
	Cluster string `path:"cluster"`
}) (*noBody, error) {
	if err := s.checkPermission(ctx, ledger.MayAdmin, ledger.Key{}); err != nil {
		return nil, err
	}
	return nil, s.Ledger.DeleteCluster(ctx, in.Cluster, requestInfoOf(ctx).caller.Subject)
}
