package envoy

import (
	"slices"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resource"
)

// tables has a RouteConfiguration for each port, for HTTPS for each listener, even where no route serves: Envoy asks for it
// and waits. An edited rule changes its virtual hosts' parts; the others stay the pointers that they are.
func (s stages) tables(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	hosts := flow.Group(s.virtualHosts(p.Domains), "envoy/virtual-hosts-by-table",
		func(_ model.DomainKey, v virtualHost) []resource.Key { return []resource.Key{v.Table} },
		func(_ model.DomainKey, v virtualHost) string { return v.Part.ID })
	users := flow.Group(p.Listeners, "envoy/table-users", func(_ model.ListenerKey, l model.Listener) []resource.Key {
		return []resource.Key{listenerHome(l).Table}
	}, byKey)
	return flow.Map(users, "envoy/tables",
		func(c *flow.Ctx, k resource.Key, listeners flow.Members[model.ListenerKey, model.Listener]) (resource.Resource, bool) {
			members, _ := flow.Fetch(c, hosts, k)
			parts := make([]*resource.Part, 0, 1+members.Len())
			parts = append(parts, tableHead(k.Name))
			for _, v := range members.All() {
				parts = append(parts, v.Part)
			}
			return newResource(withEmptyHosts(parts, listeners)...), true
		})
}

func tableHead(name string) *resource.Part {
	return newPart("", mustMarshal(&routev3.RouteConfiguration{Name: name, IgnorePortInHostMatching: true}))
}

// withEmptyHosts adds a virtual host for the hostname of each listener that has none there: a host belongs to the most
// specific listener, and gets 404 there rather than what a wider listener of the table would do.
func withEmptyHosts(parts []*resource.Part, listeners flow.Members[model.ListenerKey, model.Listener]) []*resource.Part {
	if listeners.Len() < 2 {
		return parts
	}
	taken := len(parts)
	for _, l := range listeners.All() {
		if l.Hostname == "" {
			continue
		}
		if _, ok := slices.BinarySearchFunc(parts[:taken], l.Hostname, comparePart); !ok {
			parts = append(parts, emptyVirtualHost(l.Hostname))
		}
	}
	sortParts(parts)
	return parts
}

func comparePart(p *resource.Part, id string) int { return strings.Compare(p.ID, id) }

func sortParts(parts []*resource.Part) {
	slices.SortFunc(parts, func(a, b *resource.Part) int { return strings.Compare(a.ID, b.ID) })
}
