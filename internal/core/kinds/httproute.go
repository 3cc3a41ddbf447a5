package kinds

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

func httpRoute() *kind.Kind {
	k := customKind(model.KindHTTPRoute, keepLabels(kind.CustomContent[gatewayv1.HTTPRouteSpec]()))
	k.Cacheable = true
	k.Route = &kind.Route{
		Listeners: httpListeners,
		Spec: func(spec any) kind.RouteSpec {
			s := spec.(*gatewayv1.HTTPRouteSpec)
			return kind.RouteSpec{CommonRouteSpec: &s.CommonRouteSpec, Hostnames: s.Hostnames}
		},
		Status:  func(s gatewayv1.RouteStatus) any { return gatewayv1.HTTPRouteStatus{RouteStatus: s} },
		HTTP:    func(spec any) *gatewayv1.HTTPRouteSpec { return spec.(*gatewayv1.HTTPRouteSpec) },
		Matches: func(spec any) [][]model.Match { return httpMatches(spec.(*gatewayv1.HTTPRouteSpec).Rules) },
	}
	k.TrimForeign = func(spec any) any {
		refs := spec.(*gatewayv1.HTTPRouteSpec).ParentRefs
		return &gatewayv1.HTTPRouteSpec{CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: refs}}
	}
	k.Status = routeStatus(kind.StampOf(func(s gatewayv1.HTTPRouteStatus, stamp kind.Stamper) gatewayv1.HTTPRouteStatus {
		s.RouteStatus = stampRoute(s.RouteStatus, stamp)
		return s
	}))
	k.Page = &kind.Page{Path: "docs/httproute.md", Limits: httpRouteLimits,
		Once: []string{"rules[].backendRefs[].filters[]"}}
	return &k
}
