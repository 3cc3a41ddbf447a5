package kinds

import (
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// Kinds of routes for connections: TLSRoutes by the server name that clients ask for, TCPRoutes and UDPRoutes by the
// port.

func tlsRoute() *kind.Kind {
	return connectionRoute(model.KindTLSRoute, kind.CustomContent[gatewayv1.TLSRouteSpec](),
		connections[gatewayv1.TLSRouteSpec, gatewayv1.TLSRouteStatus]{
			listeners: []kind.ListenerMode{
				{Protocol: model.TLS, TLS: model.TLSTerminate}, {Protocol: model.TLS, TLS: model.TLSPassthrough},
			},
			spec: func(s *gatewayv1.TLSRouteSpec) kind.RouteSpec {
				return kind.RouteSpec{CommonRouteSpec: &s.CommonRouteSpec, Hostnames: s.Hostnames}
			},
			rules: func(s *gatewayv1.TLSRouteSpec) []kind.ConnectionRule {
				return connectionRules(s.Rules, func(r gatewayv1.TLSRouteRule) kind.ConnectionRule {
					return kind.ConnectionRule(r)
				})
			},
			status: func(s *gatewayv1.TLSRouteStatus) *gatewayv1.RouteStatus { return &s.RouteStatus },
		})
}

func tcpRoute() *kind.Kind {
	return connectionRoute(model.KindTCPRoute, kind.CustomContent[gatewayv1.TCPRouteSpec](),
		connections[gatewayv1.TCPRouteSpec, gatewayv1.TCPRouteStatus]{
			listeners: []kind.ListenerMode{{Protocol: model.TCP}},
			spec: func(s *gatewayv1.TCPRouteSpec) kind.RouteSpec {
				return kind.RouteSpec{CommonRouteSpec: &s.CommonRouteSpec}
			},
			rules: func(s *gatewayv1.TCPRouteSpec) []kind.ConnectionRule {
				return connectionRules(s.Rules, func(r gatewayv1.TCPRouteRule) kind.ConnectionRule {
					return kind.ConnectionRule(r)
				})
			},
			status: func(s *gatewayv1.TCPRouteStatus) *gatewayv1.RouteStatus { return &s.RouteStatus },
		})
}

func udpRoute() *kind.Kind {
	return connectionRoute(model.KindUDPRoute, kind.CustomContent[gatewayv1.UDPRouteSpec](),
		connections[gatewayv1.UDPRouteSpec, gatewayv1.UDPRouteStatus]{
			listeners: []kind.ListenerMode{{Protocol: model.UDP}},
			spec: func(s *gatewayv1.UDPRouteSpec) kind.RouteSpec {
				return kind.RouteSpec{CommonRouteSpec: &s.CommonRouteSpec}
			},
			rules: func(s *gatewayv1.UDPRouteSpec) []kind.ConnectionRule {
				return connectionRules(s.Rules, func(r gatewayv1.UDPRouteRule) kind.ConnectionRule {
					return kind.ConnectionRule(r)
				})
			},
			status: func(s *gatewayv1.UDPRouteStatus) *gatewayv1.RouteStatus { return &s.RouteStatus },
		})
}

// connections is what tells the kinds of routes for connections apart: S is the spec, T the status.
type connections[S, T any] struct {
	listeners []kind.ListenerMode
	spec      func(*S) kind.RouteSpec
	rules     func(*S) []kind.ConnectionRule
	status    func(*T) *gatewayv1.RouteStatus
}

func connectionRoute[S, T any](of model.Kind, content kind.Content, c connections[S, T]) *kind.Kind {
	k := customKind(of, content)
	k.Optional, k.Cacheable = true, true
	k.Page = &kind.Page{Path: "docs/" + strings.ToLower(of.String()) + ".md", Limits: connectionRouteLimits(),
		Elsewhere: map[string]string{"rules[].name": "explain.md"}}
	k.Route = &kind.Route{
		Listeners:   c.listeners,
		Spec:        func(spec any) kind.RouteSpec { return c.spec(spec.(*S)) },
		Connections: func(spec any) []kind.ConnectionRule { return c.rules(spec.(*S)) },
		Status: func(common gatewayv1.RouteStatus) any {
			var own T
			*c.status(&own) = common
			return own
		},
	}
	k.TrimForeign = func(spec any) any {
		kept := new(S)
		c.spec(kept).ParentRefs = c.spec(spec.(*S)).ParentRefs
		return kept
	}
	k.Status = routeStatus(kind.StampOf(func(s T, stamp kind.Stamper) T {
		common := c.status(&s)
		*common = stampRoute(*common, stamp)
		return s
	}))
	return &k
}

// connectionRules are the rules of a spec; the kinds have types of their own for one shape.
func connectionRules[R any](rules []R, convert func(R) kind.ConnectionRule) []kind.ConnectionRule {
	list := make([]kind.ConnectionRule, len(rules))
	for i, r := range rules {
		list[i] = convert(r)
	}
	return list
}
