package envoy

import (
	"slices"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
)

// tables has a RouteConfiguration for each port, for HTTPS for each listener, even where no route serves: Envoy asks
// for it and waits. An edited rule changes its virtual hosts' parts; the others stay the pointers that they are.
func (s stages) tables(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	hosts := flow.Group(s.virtualHosts(p.Domains, p.Reduced), "envoy/virtual-hosts-by-table",
		func(_ model.DomainKey, v virtualHost) []resource.Key { return []resource.Key{v.Table} },
		func(_ model.DomainKey, v virtualHost) string { return v.Part.ID })
	// Parts that few things change are made apart, so that they stay the same pointers, too; an edit of the head copies
	// the list of the others, and looks at none of them.
	heads := flow.Map(s.users, "envoy/table-heads",
		func(c *flow.Ctx, k resource.Key, _ tableUsers) (*resource.Part, bool) {
			return tableHead(k.Name, fetch(c, s.ofTables, k)...), true
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
	isolation := s.isolation(p)
	return flow.Map(s.users, "envoy/tables",
		func(c *flow.Ctx, k resource.Key, _ tableUsers) (resource.Resource, bool) {
			head, _ := flow.Fetch(c, heads, k)
			all, _ := flow.Fetch(c, served, k)
			parts := append(append(make([]*resource.Part, 0, 1+len(all)), head), all...)
			others, _ := flow.Fetch(c, isolation, k)
			for _, part := range others {
				parts = withPart(parts, part)
			}
			return resource.Join(parts...), true
		})
}

// tableHead is what all virtual hosts of a table share.
func tableHead(name string, settings ...placed) *resource.Part {
	own := mustMarshal(&routev3.RouteConfiguration{Name: name, IgnorePortInHostMatching: true})
	part := newPart("", append([][]byte{own}, encodeSettings(tableSettings, settingsOf(settings))...)...)
	addSettings(part, settings)
	return part
}

// withPart adds a part at its place, unless one has its place.
func withPart(parts []*resource.Part, part *resource.Part) []*resource.Part {
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
