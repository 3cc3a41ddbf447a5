package envoy

import (
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
)

type tableUsers = flow.Members[model.ListenerKey, model.Listener]

// isolation gives each table the virtual hosts that keep listeners apart: a host belongs to the most specific listener
// of the port, whether a route serves it there or not, whether that listener can serve or not, and to no other. They
// count where no route has the same domain.
//
// HTTP listeners share a table: each one's hostname gets 404 there rather than what a wider listener would do. An HTTPS
// listener's table is chosen by SNI, so a Host of another listener was misdirected (421): a client that reuses a
// connection for another name tries again on a new one.
func (s stages) isolation(p plan.Plan) *flow.Collection[resource.Key, []*resource.Part] {
	return flow.Map(s.users, "envoy/isolation",
		func(c *flow.Ctx, table resource.Key, users tableUsers) ([]*resource.Part, bool) {
			var parts []*resource.Part
			key, first := users.At(0)
			port, _ := flow.Fetch(c, p.Ports, first.Port)
			if len(port.Listeners) < 2 {
				return nil, false
			}
			off := silencing(settingsOf(fetch(c, s.ofTables, table)))
			for _, l := range port.Listeners {
				if first.Protocol == model.HTTPS && l.Key != key {
					parts = append(parts, misdirectedHost(model.HostnameDomain(l.Hostname), off))
				} else if l.Hostname != "" {
					parts = append(parts, emptyVirtualHost(l.Hostname))
				}
			}
			return parts, true
		})
}

// misdirectedHost answers 421 for a domain; off has no filter answer in its place.
func misdirectedHost(domain string, off []byte) *resource.Part {
	route := statusRoute(421)
	route.Name = "misdirected"
	route.Match = &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}}
	v := assembly{routes: withFields([][]byte{field(routesField, mustMarshal(route))}, off)}
	return v.part(domain)
}
