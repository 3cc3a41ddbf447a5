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

// gatewayChange is what an edit changes of a Gateway's configuration, and the resources that decide about requests that
// show it: all listeners, the virtual hosts of each table that could take such a request, and what those name. It
// outlives the View.
type gatewayChange struct {
	gateway       model.ObjectRef
	tables        []changedTable
	listeners     []changedListener
	moves         []backendMove
	connections   []request.Connection
	was, is       dataplane.Dialect // of the Gateway's proxies
	before, after *resource.Excerpt
	gates         [2]request.Gates // before, after
}

// nameOf is a resource's name on its Gateway.
func nameOf(key resource.Key) resource.Name { return resource.Name{Type: key.Type, Name: key.Name} }

// findGatewayChanges are the scenes of the Gateways with tables, listeners, backends or connections that differ, in
// order.
func (d *Differ) findGatewayChanges(
	v flow.View, tables []changedTable, listeners []changedListener, moves []backendMove,
	connections []changedConnections,
) []*gatewayChange {
	of := map[model.ObjectRef]*gatewayChange{}
	at := func(gateway model.ObjectRef) *gatewayChange {
		if of[gateway] == nil {
			was, is := d.dialectsOf(v, gateway)
			of[gateway] = &gatewayChange{gateway: gateway, was: was, is: is,
				before: resource.NewExcerpt(was.Protocol.Types), after: resource.NewExcerpt(is.Protocol.Types)}
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
	for _, n := range connections {
		at(n.gateway).connections = n.list
	}
	list := make([]*gatewayChange, 0, len(of))
	for _, s := range of {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *gatewayChange) int { return a.gateway.Compare(b.gateway) })
	d.fillExcerpts(v, of)
	return list
}

// dialectsOf are the dialects of a Gateway's proxies without the edits and with them. If a Gateway comes or leaves,
// both are the one that is known.
func (d *Differ) dialectsOf(v flow.View, gateway model.ObjectRef) (was, is dataplane.Dialect) {
	old, _ := flow.ValueBefore(v, d.world.Plan.Gateways, gateway)
	edited, _ := flow.Get(v, d.world.Plan.Gateways, gateway)
	return d.world.Dialect(cmp.Or(old.DataPlane, edited.DataPlane)),
		d.world.Dialect(cmp.Or(edited.DataPlane, old.DataPlane))
}

// types are those of a Gateway's resources.
func (d *Differ) types(v flow.View, gateway model.ObjectRef) resource.AllTypes {
	_, is := d.dialectsOf(v, gateway)
	return is.Protocol.Types
}

// fillExcerpts takes what decides about the requests.
func (d *Differ) fillExcerpts(v flow.View, of map[model.ObjectRef]*gatewayChange) {
	if len(of) == 0 {
		return
	}
	takers := map[model.ObjectRef][]string{}
	for gateway, s := range of {
		takers[gateway] = resource.DomainPartIDs(s.witnessHosts()...)
	}
	decides := func(r resource.Role) bool { return r == resource.Listening || r == resource.Routing }
	for _, c := range d.world.Collections(decides) {
		add := func(key resource.Key) {
			if s := of[key.Gateway]; s != nil && decides(s.is.Protocol.Types[key.Type].Role) {
				d.addResource(v, s, nameOf(key), takers[key.Gateway])
			}
		}
		for key := range flow.All(v, c) {
			add(key)
		}
		for change := range flow.StagedChanges(v, c) {
			if change.Deleted {
				add(change.Key)
			}
		}
	}
	for gateway, s := range of {
		s.gates[0] = d.world.Policies.RequestGates(policy.Snapshot{View: v, Before: true}, gateway, s.before)
		s.gates[1] = d.world.Policies.RequestGates(policy.Snapshot{View: v}, gateway, s.after)
	}
}

// addResource takes a resource of a Gateway, and all that it needs, without the edits and with them.
func (d *Differ) addResource(v flow.View, s *gatewayChange, name resource.Name, takers []string) {
	at := func(n resource.Name) resource.Key {
		return resource.Key{Gateway: s.gateway, Type: n.Type, Name: n.Name}
	}
	s.before.AddResource(name, takers, func(n resource.Name) (resource.Resource, bool) {
		r, offered := d.offeredBefore(v, at(n))
		if !offered {
			r, _ = d.world.Outputs.FindBefore(v, at(n))
		}
		return r, offered
	})
	s.after.AddResource(name, takers, func(n resource.Name) (resource.Resource, bool) {
		r, offered := d.offeredAfter(v, at(n))
		if !offered {
			r, _ = d.world.Outputs.Find(v, at(n))
		}
		return r, offered
	})
}

// witnessHosts are those that its witnesses ask for.
func (s *gatewayChange) witnessHosts() (list []string) {
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
		for _, l := range m.uses {
			list = append(list, request.HostOf(l.domain))
		}
	}
	return list
}
