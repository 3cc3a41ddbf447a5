package diff

import (
	"slices"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resource"
	"cardea.dev/cardea/internal/simulate"
	"cardea.dev/cardea/internal/world"
)

// scene is what an edit changes of a Gateway's configuration, and what of that decides about requests that show it: all
// listeners, of each table the virtual hosts that could take such a request, and what those name. It outlives the View.
type scene struct {
	gateway       model.ObjectRef
	tables        []changedTable
	listeners     []changedListener
	moves         []move
	before, after world.Excerpt
}

// scenes are those of the Gateways whose tables, listeners or backends differ, in order.
func (d *Differ) scenes(v flow.View, tables []changedTable, listeners []changedListener, moves []move) []*scene {
	of := map[model.ObjectRef]*scene{}
	at := func(gateway model.ObjectRef) *scene {
		if of[gateway] == nil {
			of[gateway] = &scene{gateway: gateway, before: world.Excerpt{}, after: world.Excerpt{}}
		}
		return of[gateway]
	}
	for _, t := range tables {
		s := at(t.key.Gateway)
		s.tables = append(s.tables, t)
	}
	for _, l := range listeners {
		s := at(l.key.Gateway)
		s.listeners = append(s.listeners, l)
	}
	for _, m := range moves {
		s := at(m.key.Gateway)
		s.moves = append(s.moves, m)
	}
	list := make([]*scene, 0, len(of))
	for _, s := range of {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *scene) int { return a.gateway.Compare(b.gateway) })
	d.fill(v, of)
	return list
}

// fill takes what decides about the requests.
func (d *Differ) fill(v flow.View, of map[model.ObjectRef]*scene) {
	if len(of) == 0 {
		return
	}
	takers := map[model.ObjectRef][]string{}
	for gateway, s := range of {
		takers[gateway] = world.Takers(s.hosts()...)
	}
	for _, t := range []resource.Type{resource.Listener, resource.Routes} {
		add := func(key resource.Key) {
			s := of[key.Gateway]
			if s == nil {
				return
			}
			name, needed := resource.Name{Type: key.Type, Name: key.Name}, takers[key.Gateway]
			s.before.Take(name, needed, func(n resource.Name) (resource.Resource, bool) {
				return d.before(v, resource.Key{Gateway: s.gateway, Type: n.Type, Name: n.Name})
			})
			s.after.Take(name, needed, func(n resource.Name) (resource.Resource, bool) {
				return d.after(v, resource.Key{Gateway: s.gateway, Type: n.Type, Name: n.Name})
			})
		}
		for key := range flow.All(v, d.world.Outputs.Of(t)) {
			add(key)
		}
		for change := range flow.Staged(v, d.world.Outputs.Of(t)) {
			if change.Deleted {
				add(change.Key)
			}
		}
	}
}

// hosts are those that its witnesses ask for.
func (s *scene) hosts() (list []string) {
	for _, t := range s.tables {
		for _, domain := range t.domains {
			list = append(list, simulate.HostOf(domain))
		}
	}
	for _, l := range s.listeners {
		for _, r := range l.witnesses {
			list = append(list, r.Host)
		}
	}
	for _, m := range s.moves {
		for _, l := range m.led {
			list = append(list, simulate.HostOf(l.domain))
		}
	}
	return list
}
