package diff

import (
	"cmp"
	"slices"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/translate/policy"
)

// scene is what an edit changes of a Gateway's configuration, and the resources that decide about requests that show
// it: all listeners, the virtual hosts of each table that could take such a request, and what those name. It outlives
// the View.
type scene struct {
	gateway       model.ObjectRef
	tables        []changedTable
	listeners     []changedListener
	moves         []move
	was, is       dataplane.Dialect // of the Gateway's proxies
	before, after *resource.Excerpt
	gates         [2]request.Gates // before, after
}

// nameOf is a resource's name on its Gateway.
func nameOf(key resource.Key) resource.Name { return resource.Name{Type: key.Type, Name: key.Name} }

// scenes are the scenes of the Gateways with tables, listeners or backends that differ, in order.
func (d *Differ) scenes(v flow.View, tables []changedTable, listeners []changedListener, moves []move) []*scene {
	of := map[model.ObjectRef]*scene{}
	at := func(gateway model.ObjectRef) *scene {
		if of[gateway] == nil {
			of[gateway] = &scene{gateway: gateway, before: resource.NewExcerpt(), after: resource.NewExcerpt()}
			of[gateway].was, of[gateway].is = d.dialects(v, gateway)
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

// dialects are the dialects of a Gateway's proxies without the edits and with them. If a Gateway comes or leaves, both
// are the one that is known.
func (d *Differ) dialects(v flow.View, gateway model.ObjectRef) (was, is dataplane.Dialect) {
	old, _ := flow.Before(v, d.world.Plan.Gateways, gateway)
	edited, _ := flow.Get(v, d.world.Plan.Gateways, gateway)
	return d.world.Dialect(cmp.Or(old.DataPlane, edited.DataPlane)),
		d.world.Dialect(cmp.Or(edited.DataPlane, old.DataPlane))
}

// fill takes what decides about the requests.
func (d *Differ) fill(v flow.View, of map[model.ObjectRef]*scene) {
	if len(of) == 0 {
		return
	}
	takers := map[model.ObjectRef][]string{}
	for gateway, s := range of {
		takers[gateway] = resource.Takers(s.hosts()...)
	}
	for _, t := range []resource.Type{resource.Listener, resource.Routes} {
		add := func(key resource.Key) {
			if s := of[key.Gateway]; s != nil {
				d.take(v, s, nameOf(key), takers[key.Gateway])
			}
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
	for gateway, s := range of {
		s.gates[0] = d.world.Policies.Gates(policy.Sight{View: v, Before: true}, gateway, s.before)
		s.gates[1] = d.world.Policies.Gates(policy.Sight{View: v}, gateway, s.after)
	}
}

// take takes a resource of a Gateway, and all that it needs, without the edits and with them.
func (d *Differ) take(v flow.View, s *scene, name resource.Name, takers []string) {
	at := func(n resource.Name) resource.Key {
		return resource.Key{Gateway: s.gateway, Type: n.Type, Name: n.Name}
	}
	s.before.Take(name, takers, func(n resource.Name) (resource.Resource, bool) {
		r, offered := d.before(v, at(n))
		if !offered {
			r, _ = flow.Before(v, d.world.Outputs.Of(n.Type), at(n))
		}
		return r, offered
	})
	s.after.Take(name, takers, func(n resource.Name) (resource.Resource, bool) {
		r, offered := d.after(v, at(n))
		if !offered {
			r, _ = flow.Get(v, d.world.Outputs.Of(n.Type), at(n))
		}
		return r, offered
	})
}

// hosts are those that its witnesses ask for.
func (s *scene) hosts() (list []string) {
	for _, t := range s.tables {
		for _, domain := range t.domains {
			list = append(list, request.HostOf(domain))
		}
	}
	for _, l := range s.listeners {
		for _, r := range l.witnesses {
			list = append(list, r.Host)
		}
	}
	for _, m := range s.moves {
		for _, l := range m.led {
			list = append(list, request.HostOf(l.domain))
		}
	}
	return list
}
