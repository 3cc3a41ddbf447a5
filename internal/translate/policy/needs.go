package policy

import (
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// settingsKey is where settings stand: a level, a route, a port or a backend (the others are zero).
type settingsKey struct {
	Level   LevelKey
	Route   model.ObjectRef
	Port    model.PortKey
	Backend plan.BackendKey
}

// settingsNeeds is what settings need besides themselves, and the Gateways where they stand.
type settingsNeeds struct {
	Gateways []model.ObjectRef
	Entries  []plan.RenderedEntry // of filters that keep state
	Uses     []model.BackendKey   // that they send requests to
	notedNeeds
}

// notedNeeds is what does not depend on how settings are rendered. So most edits of a policy change nothing of it.
type notedNeeds struct {
	Fetches []fetchRequest // documents that settings depend on
	Files   []model.File   // of the proxies' machine that they write
	// Materials are what they read of objects as certificates and key sets.
	Materials []usedMaterial
	// Methods are the methods of authentication that a route's rules have of their own.
	Methods []string
}

func (n notedNeeds) hasAny() bool {
	return len(n.Fetches)+len(n.Files)+len(n.Materials)+len(n.Methods) > 0
}

// notedOf is what is noted at each place.
func notedOf(all *flow.Collection[settingsKey, settingsNeeds]) *flow.Collection[settingsKey, notedNeeds] {
	return flow.Map(all, "policy/noted",
		func(_ *flow.Ctx, _ settingsKey, n settingsNeeds) (notedNeeds, bool) {
			return n.notedNeeds, n.notedNeeds.hasAny()
		})
}

// addPiece adds what a piece needs.
func (n *settingsNeeds) addPiece(p Piece) {
	r := p.Rendered
	n.Entries, n.Fetches = concatLists(n.Entries, r.Entries), concatLists(n.Fetches, p.Fetches)
	n.Materials, n.Files = concatLists(n.Materials, p.Materials), concatLists(n.Files, p.Files)
	for _, s := range r.Settings {
		n.addUses(s.Uses)
	}
	n.addUses(r.OfListener().Uses)
}

func (n *settingsNeeds) addUses(backends []model.BackendKey) {
	for _, b := range backends {
		if !slices.Contains(n.Uses, b) {
			n.Uses = append(n.Uses, b)
		}
	}
}

func (n *settingsNeeds) hasAny() bool {
	return len(n.Entries)+len(n.Uses) > 0 || n.notedNeeds.hasAny()
}

// collectSettings makes at most one value for each level, each route and each port.
func collectSettings[V any](
	m *Translator, name string, ofLevel func(LevelKey, levelFeature) (V, bool),
	ofRoute func(*flow.Ctx, model.ObjectRef, RoutePieces) (V, bool), ofPort func(model.PortKey, PortPieces) (V, bool),
	others ...flow.Input[settingsKey, V],
) *flow.Collection[settingsKey, V] {
	levels := flow.FromRenamed(m.Levels, func(k LevelKey) settingsKey { return settingsKey{Level: k} },
		func(_ *flow.Ctx, k LevelKey, l levelFeature) (V, bool) { return ofLevel(k, l) })
	routes := flow.FromRenamed(m.Routes, func(r model.ObjectRef) settingsKey { return settingsKey{Route: r} }, ofRoute)
	ports := flow.FromRenamed(m.Ports, func(k model.PortKey) settingsKey { return settingsKey{Port: k} },
		func(_ *flow.Ctx, k model.PortKey, p PortPieces) (V, bool) { return ofPort(k, p) })
	return flow.Merge("policy/"+name, levels, append(others, routes, ports)...)
}

// newNeeds has what settings need, by where they stand.
func (m *Translator) newNeeds(
	routes *flow.Collection[model.ObjectRef, model.Route],
) *flow.Collection[settingsKey, settingsNeeds] {
	return collectSettings(m, "needs", func(k LevelKey, l levelFeature) (settingsNeeds, bool) {
		n := settingsNeeds{Gateways: []model.ObjectRef{k.Gateway}}
		n.addPiece(l.Piece)
		return n, n.hasAny()
	}, func(c *flow.Ctx, ref model.ObjectRef, r RoutePieces) (settingsNeeds, bool) {
		var n settingsNeeds
		for _, p := range r.allPieces() {
			n.addPiece(p.Piece)
			if p.isAuthMethod() && !slices.Contains(n.Methods, p.Feature) {
				n.Methods = append(n.Methods, p.Feature)
			}
		}
		if n.hasAny() {
			route, _ := flow.Fetch(c, routes, ref)
			for _, g := range route.Gateways {
				n.Gateways = append(n.Gateways, g.Ref)
			}
		}
		return n, n.hasAny()
	}, func(k model.PortKey, p PortPieces) (settingsNeeds, bool) {
		n := settingsNeeds{Gateways: []model.ObjectRef{k.Gateway}}
		for _, piece := range p.allPieces(k) {
			n.addPiece(piece.Piece)
		}
		return n, n.hasAny()
	})
}

// BackendUsers are the places with settings that send requests to a backend.
type BackendUsers = flow.Members[settingsKey, settingsNeeds]

func usersOf(all *flow.Collection[settingsKey, settingsNeeds]) *flow.Collection[plan.BackendKey, BackendUsers] {
	return flow.Group(all, "policy/backend-users", func(_ settingsKey, n settingsNeeds) (keys []plan.BackendKey) {
		for _, g := range n.Gateways {
			for _, b := range n.Uses {
				keys = append(keys, plan.BackendKey{Gateway: g, Backend: b})
			}
		}
		return keys
	}, flow.ByKey)
}

// entriesOf has each entry once, whoever states it: those of one name are equal.
func entriesOf(all *flow.Collection[settingsKey, settingsNeeds]) *flow.Collection[plan.SharedKey, plan.SharedEntry] {
	byKey := flow.Group(all, "policy/entries", func(_ settingsKey, n settingsNeeds) (keys []plan.SharedKey) {
		for _, g := range n.Gateways {
			for _, e := range n.Entries {
				keys = append(keys, plan.SharedKey{Gateway: g, Slot: e.Slot, ID: e.ID})
			}
		}
		return keys
	}, flow.ByKey)
	return flow.Map(byKey, "plan/shared-entries",
		func(_ *flow.Ctx, k plan.SharedKey, members flow.Members[settingsKey, settingsNeeds]) (plan.SharedEntry, bool) {
			_, first := members.At(0)
			for _, e := range first.Entries {
				if e.Slot == k.Slot && e.ID == k.ID {
					return e.Entry, true
				}
			}
			return plan.SharedEntry{}, false
		})
}
