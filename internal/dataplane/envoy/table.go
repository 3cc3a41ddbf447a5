package envoy

import (
	"slices"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/route"
)

// tableResources has a RouteConfiguration for each port, for HTTPS for each listener, even where no route serves: Envoy
// asks for it and waits. An edited rule changes its virtual hosts' parts; the others stay the pointers that they are.
func (s stages) tableResources(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	hosts := flow.Group(s.virtualHosts(p.Domains, p.DegradedRules), "envoy/virtual-hosts-by-table",
		func(_ model.DomainKey, v virtualHost) []resource.Key { return []resource.Key{v.Table} },
		func(_ model.DomainKey, v virtualHost) string { return v.Part.ID })
	// Parts that few things change are made apart, so that they stay the same pointers, too; an edit of the head copies
	// the list of the others, and looks at none of them.
	heads := flow.Map(s.users, "envoy/table-heads",
		func(c *flow.Ctx, k resource.Key, _ tableUsers) (*resource.Part, bool) {
			return tableHead(k.Name, fetchOptional(c, s.settingsByTable, k)...), true
		})
	served := flow.Map(hosts, "envoy/table-hosts",
		func(_ *flow.Ctx, _ resource.Key, members flow.Members[model.DomainKey, virtualHost]) ([]*resource.Part, bool) {
			parts := make([]*resource.Part, 0, members.Len())
			for _, v := range members.All() {
				// A domain comes once, or Envoy would refuse the table.
				if len(parts) == 0 || parts[len(parts)-1].ID != v.Part.ID {
					parts = append(parts, v.Part)
				}
			}
			return parts, true
		})
	isolation := s.isolationHosts(p)
	return flow.Map(s.users, "envoy/tables",
		func(c *flow.Ctx, k resource.Key, _ tableUsers) (resource.Resource, bool) {
			head, _ := flow.Fetch(c, heads, k)
			all, _ := flow.Fetch(c, served, k)
			parts := append(append(make([]*resource.Part, 0, 1+len(all)), head), all...)
			others, _ := flow.Fetch(c, isolation, k)
			for _, part := range others {
				parts = insertPart(parts, part)
			}
			return resource.JoinParts(parts...), true
		})
}

// tableHead is what all virtual hosts of a table share.
func tableHead(name string, settings ...placedSetting) *resource.Part {
	own := message.MustMarshal(&routev3.RouteConfiguration{Name: name, IgnorePortInHostMatching: true})
	part := message.NewPart("", append([][]byte{own}, encodeSettings(tableConfigField, settingsOf(settings))...)...)
	addSettings(part, settings)
	return part
}

// insertPart adds a part at its place, unless one has its place.
func insertPart(parts []*resource.Part, part *resource.Part) []*resource.Part {
	i, taken := slices.BinarySearchFunc(parts, part.ID, comparePart)
	if taken {
		return parts
	}
	return slices.Insert(parts, i, part)
}

func comparePart(p *resource.Part, id string) int { return strings.Compare(p.ID, id) }

func sortParts(parts []*resource.Part) {
	slices.SortFunc(parts, func(a, b *resource.Part) int { return strings.Compare(a.ID, b.ID) })
}

type tableUsers = flow.Members[model.ListenerKey, model.Listener]

// isolationHosts gives each table the virtual hosts that keep listeners apart: a host belongs to the most specific
// listener of the port, whether a route serves it there or not, whether that listener can serve or not, and to no
// other. They count where no route has the same domain.
//
// HTTP listeners share a table: each one's hostname gets 404 there rather than what a wider listener would do. An HTTPS
// listener's table is chosen by SNI, so a Host of another listener was misdirected (421): a client that reuses a
// connection for another name tries again on a new one.
func (s stages) isolationHosts(p plan.Plan) *flow.Collection[resource.Key, []*resource.Part] {
	return flow.Map(s.users, "envoy/isolation",
		func(c *flow.Ctx, table resource.Key, users tableUsers) ([]*resource.Part, bool) {
			var parts []*resource.Part
			key, first := users.At(0)
			port, _ := flow.Fetch(c, p.Ports, first.Port)
			if len(port.Listeners) < 2 {
				return nil, false
			}
			off := encodeDisabled(settingsOf(fetchOptional(c, s.settingsByTable, table)))
			for _, l := range port.Listeners {
				if first.Protocol == model.HTTPS && l.Key != key {
					parts = append(parts, misdirectedHost(model.HostnameDomain(l.Hostname), off))
				} else if l.Hostname != "" {
					parts = append(parts, notFoundHost(l.Hostname))
				}
			}
			return parts, true
		})
}

// misdirectedHost answers 421 for a domain; off has no filter answer in its place.
func misdirectedHost(domain string, off []byte) *resource.Part {
	route := route.DirectResponseRoute(421)
	route.Name = "misdirected"
	route.Match = &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}}
	v := hostBuilder{routes: withFields([][]byte{message.EncodeField(routesField, message.MustMarshal(route))}, off)}
	return v.buildPart(domain)
}
