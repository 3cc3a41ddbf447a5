package policy

import (
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// place is where settings stand: a level, a route, a port or a backend (the others are zero).
type place struct {
	Level   LevelKey
	Route   model.ObjectRef
	Port    model.PortKey
	Backend plan.BackendKey
}

// needed is what settings need besides themselves, and the Gateways where they stand.
type needed struct {
	Gateways []model.ObjectRef
	Entries  []plan.RenderedEntry // of filters that keep state
	Uses     []model.BackendKey   // that they send requests to
	noted
}

// noted is what does not depend on how settings are rendered. So most edits of a policy change nothing of it.
type noted struct {
	Fetches []fetch      // documents that settings depend on
	Files   []model.File // of the proxies' machine that they write
	// Materials are what they read of objects as certificates and key sets.
	Materials []material
	// Methods are the methods of authentication that a route's rules have of their own.
	Methods []string
}

func (n noted) any() bool { return len(n.Fetches)+len(n.Files)+len(n.Materials)+len(n.Methods) > 0 }

// notedOf is what is noted at each place.
func notedOf(all *flow.Collection[place, needed]) *flow.Collection[place, noted] {
	return flow.Map(all, "policy/noted",
		func(_ *flow.Ctx, _ place, n needed) (noted, bool) { return n.noted, n.noted.any() })
}

// add adds what a piece needs.
func (n *needed) add(p Piece) {
	r := p.Rendered
	n.Entries, n.Fetches = joined(n.Entries, r.Entries), joined(n.Fetches, p.Fetches)
	n.Materials, n.Files = joined(n.Materials, p.Materials), joined(n.Files, p.Files)
	for _, s := range r.Settings {
		n.uses(s.Uses)
	}
	n.uses(r.OfListener().Uses)
}

func (n *needed) uses(backends []model.BackendKey) {
	for _, b := range backends {
		if !slices.Contains(n.Uses, b) {
			n.Uses = append(n.Uses, b)
		}
	}
}

func (n *needed) any() bool {
	return len(n.Entries)+len(n.Uses) > 0 || n.noted.any()
}

// byPlace makes at most one value for each level, each route and each port.
func byPlace[V any](
	m *Meaning, name string, ofLevel func(LevelKey, level) (V, bool),
	ofRoute func(*flow.Ctx, model.ObjectRef, Route) (V, bool), ofPort func(model.PortKey, Port) (V, bool),
	others ...flow.Input[place, V],
) *flow.Collection[place, V] {
	levels := flow.Renamed(m.Levels, func(k LevelKey) place { return place{Level: k} },
		func(_ *flow.Ctx, k LevelKey, l level) (V, bool) { return ofLevel(k, l) })
	routes := flow.Renamed(m.Routes, func(r model.ObjectRef) place { return place{Route: r} }, ofRoute)
	ports := flow.Renamed(m.Ports, func(k model.PortKey) place { return place{Port: k} },
		func(_ *flow.Ctx, k model.PortKey, p Port) (V, bool) { return ofPort(k, p) })
	return flow.Merge("policy/"+name, levels, append(others, routes, ports)...)
}

// needs has what settings need, by where they stand.
func (m *Meaning) needs(routes *flow.Collection[model.ObjectRef, model.Route]) *flow.Collection[place, needed] {
	return byPlace(m, "needs", func(k LevelKey, l level) (needed, bool) {
		n := needed{Gateways: []model.ObjectRef{k.Gateway}}
		n.add(l.Piece)
		return n, n.any()
	}, func(c *flow.Ctx, ref model.ObjectRef, r Route) (needed, bool) {
		var n needed
		for _, p := range r.pieces() {
			n.add(p.Piece)
			if p.method() && !slices.Contains(n.Methods, p.Feature) {
				n.Methods = append(n.Methods, p.Feature)
			}
		}
		if n.any() {
			route, _ := flow.Fetch(c, routes, ref)
			for _, g := range route.Gateways {
				n.Gateways = append(n.Gateways, g.Ref)
			}
		}
		return n, n.any()
	}, func(k model.PortKey, p Port) (needed, bool) {
		n := needed{Gateways: []model.ObjectRef{k.Gateway}}
		for _, piece := range p.pieces(k) {
			n.add(piece.Piece)
		}
		return n, n.any()
	})
}

// Users are the places with settings that send requests to a backend.
type Users = flow.Members[place, needed]

func usersOf(all *flow.Collection[place, needed]) *flow.Collection[plan.BackendKey, Users] {
	return flow.Group(all, "policy/backend-users", func(_ place, n needed) (keys []plan.BackendKey) {
		for _, g := range n.Gateways {
			for _, b := range n.Uses {
				keys = append(keys, plan.BackendKey{Gateway: g, Backend: b})
			}
		}
		return keys
	}, flow.ByKey)
}

// entriesOf has each entry once, whoever states it: those of one name are equal.
func entriesOf(all *flow.Collection[place, needed]) *flow.Collection[plan.SharedKey, plan.SharedEntry] {
	byKey := flow.Group(all, "policy/entries", func(_ place, n needed) (keys []plan.SharedKey) {
		for _, g := range n.Gateways {
			for _, e := range n.Entries {
				keys = append(keys, plan.SharedKey{Gateway: g, Slot: e.Slot, ID: e.ID})
			}
		}
		return keys
	}, flow.ByKey)
	return flow.Map(byKey, "plan/shared-entries",
		func(_ *flow.Ctx, k plan.SharedKey, members flow.Members[place, needed]) (plan.SharedEntry, bool) {
			_, first := members.At(0)
			for _, e := range first.Entries {
				if e.Slot == k.Slot && e.ID == k.ID {
					return e.Entry, true
				}
			}
			return plan.SharedEntry{}, false
		})
}
