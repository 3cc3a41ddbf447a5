package envoy

import (
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resource"
)

// manyListeners is the number of HTTPS listeners of a port up to which each table names the hosts of all others. It is
// what one Gateway may have; above, the square of it would cost more than the right status code is worth.
const manyListeners = 64

type tableUsers = flow.Members[model.ListenerKey, model.Listener]

// isolation gives each table the virtual hosts that keep listeners apart: a host belongs to the most specific listener of
// the port, whether a route serves it there or not, and to no other. They count where no route has the same domain.
//
// HTTP listeners share a table: each one's hostname gets 404 there rather than what a wider listener would do. An HTTPS
// listener's table is chosen by SNI, so a Host of another listener was misdirected (421): a client that reuses a connection
// for another name tries again on a new one.
func isolation(p plan.Plan, users *flow.Collection[resource.Key, tableUsers]) *flow.Collection[resource.Key, []*resource.Part] {
	misdirected := flow.Map(p.Listeners, "envoy/misdirected", func(_ *flow.Ctx, _ model.ListenerKey, l model.Listener) (*resource.Part, bool) {
		return misdirectedHost(domain(l.Hostname)), l.Protocol == model.HTTPS
	})
	return flow.Map(users, "envoy/isolation", func(c *flow.Ctx, _ resource.Key, users tableUsers) ([]*resource.Part, bool) {
		var parts []*resource.Part
		key, first := users.At(0)
		port, _ := flow.Fetch(c, p.Ports, first.Port)
		if len(port.Listeners) < 2 {
			return nil, false
		}
		for _, l := range users.All() {
			if l.Hostname != "" {
				parts = append(parts, emptyVirtualHost(l.Hostname))
			}
		}
		if first.Protocol != model.HTTPS {
			return parts, true
		}
		for _, other := range port.Listeners {
			if other.Key == key || len(port.Listeners) > manyListeners && !covers(first.Hostname, other.Hostname) {
				continue
			}
			if part, ok := flow.Fetch(c, misdirected, other.Key); ok {
				parts = append(parts, part)
			}
		}
		return parts, true
	})
}

// misdirectedHost answers 421 for a domain.
func misdirectedHost(domain string) *resource.Part {
	route := statusRoute(421)
	route.Name = "misdirected"
	route.Match = &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}}
	v := assembly{routes: [][]byte{field(routesField, mustMarshal(route))}}
	return v.part(domain)
}

// domain is a hostname as a domain: "" is every host.
func domain(hostname string) string {
	if hostname == "" {
		return "*"
	}
	return hostname
}

// covers tells whether hosts of one hostname are hosts of the other, too.
func covers(wide, narrow string) bool {
	suffix, wild := strings.CutPrefix(wide, "*")
	return wide == "" || wild && strings.HasSuffix(narrow, suffix)
}
