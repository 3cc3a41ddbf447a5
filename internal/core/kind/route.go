package kind

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// Route declares what objects of a kind are as routes. Where they attach, whom they refer to and what their status says
// is the same for all kinds. Rules are of two sorts: for requests of HTTP, or for connections.
type Route struct {
	// Listeners are those that routes of the kind attach to.
	Listeners []ListenerMode
	// Spec is what routes of all kinds have in common. It is called often, and shares memory with the spec.
	Spec func(spec any) RouteSpec
	// HTTP is the spec in the words of an HTTPRoute, but for the matches of its rules; nil: its rules are not for requests
	// of HTTP, and no policy for requests can target it.
	HTTP func(spec any) *gatewayv1.HTTPRouteSpec
	// Matches are those of each rule that HTTP lists, in its order; nil where HTTP is nil.
	Matches func(spec any) [][]model.Match
	// Connections are the rules of a spec, where HTTP is nil.
	Connections func(spec any) []ConnectionRule
	// Status is the status of a route, as its reports have it; nil: without a type of its own.
	Status func(gatewayv1.RouteStatus) any
	// GRPC: its requests are calls of gRPC.
	GRPC bool
}

// ListenerMode is a protocol of listeners, and what they do with TLS; "": there is none.
type ListenerMode struct {
	Protocol model.Protocol
	TLS      model.TLSMode
}

// RouteSpec is what the specs of routes of all kinds have in common.
type RouteSpec struct {
	*gatewayv1.CommonRouteSpec
	Hostnames []gatewayv1.Hostname // none: every host
}

// ConnectionRule is a rule that shares connections among backends.
type ConnectionRule struct {
	Name        *gatewayv1.SectionName
	BackendRefs []gatewayv1.BackendRef
}

// Rules are the rules of a spec, in the words of an HTTPRoute.
func (r *Route) Rules(spec any) []gatewayv1.HTTPRouteRule {
	if r.HTTP != nil {
		return r.HTTP(spec).Rules
	}
	var list []gatewayv1.HTTPRouteRule
	for _, rule := range r.Connections(spec) {
		common := gatewayv1.HTTPRouteRule{Name: rule.Name}
		for _, b := range rule.BackendRefs {
			common.BackendRefs = append(common.BackendRefs, gatewayv1.HTTPBackendRef{BackendRef: b})
		}
		list = append(list, common)
	}
	return list
}

// AttachesTo tells whether routes attach to listeners of a protocol, in a mode.
func (r *Route) AttachesTo(p model.Protocol, mode model.TLSMode) bool {
	return slices.Contains(r.Listeners, ListenerMode{p, mode})
}

// SharesListeners tells whether routes of two kinds can attach to one listener.
func (r *Route) SharesListeners(other *Route) bool {
	return slices.ContainsFunc(r.Listeners, func(l ListenerMode) bool { return slices.Contains(other.Listeners, l) })
}

// Carries is what its rules send to backends; "": requests. What a TLS connection carries, its listener's mode decides.
func (r *Route) Carries() model.Carried {
	if r.HTTP != nil || len(r.Listeners) == 0 {
		return ""
	}
	return r.Listeners[0].Protocol.Carries(model.TLSTerminate)
}

// AsRoute is what objects of the kind are as routes; nil: they are none. It is nil for a nil Kind, too.
func (k *Kind) AsRoute() *Route {
	if k == nil {
		return nil
	}
	return k.Route
}

// ForHTTP tells whether the rules of routes are for requests of HTTP. It is false for a nil Route.
func (r *Route) ForHTTP() bool { return r != nil && r.HTTP != nil }

// ForGRPC tells whether its requests are calls of gRPC. It is false for a nil Route.
func (r *Route) ForGRPC() bool { return r != nil && r.GRPC }

// Routes are the kinds that are routes, in the order of the catalog.
func (c *Catalog) Routes() (list []*Kind) {
	for _, k := range c.list {
		if k.Route != nil {
			list = append(list, k)
		}
	}
	return list
}
