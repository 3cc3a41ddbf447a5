package policy

import (
	"strings"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/core/resource"
)

// Snapshot is a state that is looked at: a View, or the state before the edits of a Try.
type Snapshot struct {
	View   flow.View
	Before bool
}

func lookUp[K comparable, V any](s Snapshot, c *flow.Collection[K, V], k K) (v V, found bool) {
	if c == nil {
		return v, false
	}
	if s.Before {
		return flow.ValueBefore(s.View, c, k)
	}
	return flow.Get(s.View, c, k)
}

// RequestGates tell what the features do that an excerpt of a Gateway's configuration holds.
func (m *Translator) RequestGates(s Snapshot, gateway model.ObjectRef, of *resource.Excerpt) request.Gates {
	gates := request.Gates{
		Levels: map[request.GateKey]request.Gate{}, Rules: map[model.RuleKey]map[request.GateKey]request.Gate{},
	}
	if m.Levels == nil {
		return gates
	}
	at, _ := lookUp(s, m.levelsByGateway, gateway)
	for k, l := range at.All() {
		m.addGates(gates.Levels, k.Kind, l.Piece)
	}
	m.addListenerGates(s, gateway, gates.Levels)
	for _, route := range routesIn(m.inputs.Sources.Catalog, of) {
		r, _ := lookUp(s, m.Routes, route)
		for rule, p := range r.allPieces() {
			if gates.Rules[rule] == nil {
				gates.Rules[rule] = map[request.GateKey]request.Gate{}
			}
			m.addGates(gates.Rules[rule], p.Kind, p.Piece)
		}
	}
	return gates
}

// addListenerGates adds those of the filters that requests pass before all slots.
func (m *Translator) addListenerGates(s Snapshot, gateway model.ObjectRef, to map[request.GateKey]request.Gate) {
	ports, _ := lookUp(s, m.portsByGateway, gateway)
	for k, port := range ports.All() {
		for _, p := range port.allPieces(k) {
			if f := m.Store.findFeature(p.Kind, p.Feature); f != nil && f.Judge != nil {
				for _, filter := range p.Rendered.OfListener().Filters {
					to[gateKey(filter)] = request.Gate{
						Feature: p.Kind.String() + "." + p.Feature,
						Judge:   func(q request.Request) []request.Verdict { return f.Judge(q, []byte(p.PublicJSON)) },
					}
				}
			}
		}
	}
}

// addGates adds the gates of a piece's filters.
func (m *Translator) addGates(to map[request.GateKey]request.Gate, kind model.Kind, p Piece) {
	f := m.Store.findFeature(kind, p.Feature)
	if f == nil {
		return
	}
	gate := request.Gate{Feature: strings.TrimSuffix(kind.String()+"."+p.Feature, "."+extend.Whole)}
	if f.Unmerged != nil && len(p.Rendered.Settings) > 0 {
		gate.Feature += " " + p.Rendered.Settings[0].Name // each level is asked
	}
	for _, setting := range p.Agents {
		to[gateKey(setting)] = request.Gate{Feature: gate.Feature + " agents", Judge: f.Agents.Judge}
	}
	switch {
	case p.Status != 0:
		gate.Judge = func(request.Request) []request.Verdict { return []request.Verdict{{Status: p.Status}} }
	case f.Judge != nil:
		gate.Judge = func(q request.Request) []request.Verdict { return f.Judge(q, []byte(p.PublicJSON)) }
	}
	for _, setting := range p.Rendered.Settings {
		if !setting.Off {
			to[gateKey(setting)] = gate
		}
	}
}

func gateKey(s plan.Setting) request.GateKey {
	return request.GateKey{Slot: s.Slot, Name: s.Name, Type: s.Config.Type, Config: string(s.Config.Value)}
}

// routesIn are the routes that an excerpt holds rules of.
func routesIn(catalog *kind.Catalog, e *resource.Excerpt) (list []model.ObjectRef) {
	seen := map[model.ObjectRef]bool{}
	for name, parts := range e.Offered {
		if !e.Types.Has(name.Type, resource.Routing) {
			continue
		}
		for _, p := range parts {
			for _, f := range p.Fragments {
				if catalog.FindKind(f.Origin.Object.Kind()).AsRoute() != nil {
					if !seen[f.Origin.Object] {
						seen[f.Origin.Object] = true
						list = append(list, f.Origin.Object)
					}
				}
			}
		}
	}
	return list
}

// findFeature finds a feature of a kind; nil: there is none.
func (s *Store) findFeature(kind model.Kind, name string) *Feature {
	k, _ := s.FindKind(kind)
	return k.FindFeature(name)
}
