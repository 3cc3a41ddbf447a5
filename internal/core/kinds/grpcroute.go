package kinds

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

func grpcRoute() *kind.Kind {
	k := custom(model.KindGRPCRoute, selected(kind.Custom[gatewayv1.GRPCRouteSpec]()))
	k.After, k.Many, k.Route, k.Optional = model.KindGateway, true, true, true
	k.References = func(from model.ObjectRef, spec any) []kind.Reference {
		return routeReferences(from, input.AsHTTPRoute(spec.(*gatewayv1.GRPCRouteSpec)))
	}
	k.Refers = routeRefers
	k.Foreign = func(spec any) any {
		refs := spec.(*gatewayv1.GRPCRouteSpec).ParentRefs
		return &gatewayv1.GRPCRouteSpec{CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: refs}}
	}
	k.Status = routeStatus(kind.StampOf(func(s gatewayv1.GRPCRouteStatus, stamp kind.Stamper) gatewayv1.GRPCRouteStatus {
		s.RouteStatus = stampRoute(s.RouteStatus, stamp)
		return s
	}))
	k.Columns = routeColumns()
	k.Page = &kind.Page{Path: "docs/grpcroute.md", Limits: grpcRouteLimits,
		Once: []string{"rules[].backendRefs[].filters[]"}}
	return &k
}
