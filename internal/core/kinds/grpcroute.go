package kinds

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

func grpcRoute() *kind.Kind {
	k := customKind(model.KindGRPCRoute, keepLabels(kind.CustomContent[gatewayv1.GRPCRouteSpec]()))
	k.Optional, k.Cacheable = true, true
	k.Route = &kind.Route{
		Listeners: httpListeners,
		Spec: func(spec any) kind.RouteSpec {
			s := spec.(*gatewayv1.GRPCRouteSpec)
			return kind.RouteSpec{CommonRouteSpec: &s.CommonRouteSpec, Hostnames: s.Hostnames}
		},
		Status:  func(s gatewayv1.RouteStatus) any { return gatewayv1.GRPCRouteStatus{RouteStatus: s} },
		HTTP:    func(spec any) *gatewayv1.HTTPRouteSpec { return input.AsHTTPRoute(spec.(*gatewayv1.GRPCRouteSpec)) },
		Matches: func(spec any) [][]model.Match { return grpcMatches(spec.(*gatewayv1.GRPCRouteSpec).Rules) },
		GRPC:    true,
	}
	k.TrimForeign = func(spec any) any {
		refs := spec.(*gatewayv1.GRPCRouteSpec).ParentRefs
		return &gatewayv1.GRPCRouteSpec{CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: refs}}
	}
	k.Status = routeStatus(kind.StampOf(func(s gatewayv1.GRPCRouteStatus, stamp kind.Stamper) gatewayv1.GRPCRouteStatus {
		s.RouteStatus = stampRoute(s.RouteStatus, stamp)
		return s
	}))
	k.Page = &kind.Page{Path: "docs/grpcroute.md", Limits: grpcRouteLimits,
		Once: []string{"rules[].backendRefs[].filters[]"}}
	return &k
}
