package policy

import (
	"strings"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/core/resource"
)

// Sight is a state that is looked at: a View, or the state before the edits of a Try.
type Sight struct {
	View   flow.View
	Before bool
}

func see[K comparable, V any](s Sight, c *flow.Collection[K, V], k K) (v V, found bool) {
	if c == nil {
		return v, false
	}
	if s.Before {
		return flow.Before(s.View, c, k)
	}
	return flow.Get(s.View, c, k)
}

// Gates tell what the features do that an excerpt of a Gateway's configuration holds.
func (m *Meaning) Gates(s Sight, gateway model.ObjectRef, of *resource.Excerpt) request.Gates {
	gates := request.Gates{
		Levels: map[request.GateKey]request.Gate{}, Rules: map[model.RuleKey]map[request.GateKey]request.Gate{},
	}
	if m.Levels == nil {
		return gates
	}
	at, _ := see(s, m.byGateway, gateway)
	for k, l := range at.All() {
		m.gate(gates.Levels, k.Kind, l.Piece)
	}
	m.listenerGates(s, gateway, gates.Levels)
	for _, route := range routesIn(of) {
		r, _ := see(s, m.Routes, route)
		for rule, p := range r.pieces() {
			if gates.Rules[rule] == nil {
				gates.Rules[rule] = map[request.GateKey]request.Gate{}
			}
			m.gate(gates.Rules[rule], p.Kind, p.Piece)
		}
	}
	return gates
}

// listenerGates adds those of the filters that requests pass before all slots.
func (m *Meaning) listenerGates(s Sight, gateway model.ObjectRef, to map[request.GateKey]request.Gate) {
	ports, _ := see(s, m.portsBy, gateway)
	for k, port := range ports.All() {
		for _, p := range port.pieces(k) {
			if f := m.Store.feature(p.Kind, p.Feature); f != nil && f.Judge != nil {
				for _, filter := range p.Rendered.OfListener().HTTPFilters {
					key := request.GateKey{
						Slot: request.ListenerSlot, Name: filter.Name, Type: filter.Config.Type, Config: string(filter.Config.Value),
					}
					to[key] = request.Gate{
						Feature: p.Kind.String() + "." + p.Feature,
						Judge:   func(q request.Request) []request.Verdict { return f.Judge(q, []byte(p.Shown)) },
					}
				}
			}
		}
	}
}

// gate adds the gates of a piece's filters.
func (m *Meaning) gate(to map[request.GateKey]request.Gate, kind model.Kind, p Piece) {
	f := m.Store.feature(kind, p.Feature)
	if f == nil {
		return
	}
	gate := request.Gate{Feature: strings.TrimSuffix(kind.String()+"."+p.Feature, "."+extend.Whole)}
	if f.EachLevel && len(p.Rendered.Settings) > 0 {
		gate.Feature += " " + p.Rendered.Settings[0].Name // each level is asked
	}
	for _, setting := range p.Agents {
		to[gateKey(setting)] = request.Gate{Feature: gate.Feature + " agents", Judge: f.JudgeAgents}
	}
	switch {
	case p.Status != 0:
		gate.Judge = func(request.Request) []request.Verdict { return []request.Verdict{{Status: p.Status}} }
	case f.Judge != nil:
		gate.Judge = func(q request.Request) []request.Verdict { return f.Judge(q, []byte(p.Shown)) }
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
func routesIn(e *resource.Excerpt) (list []model.ObjectRef) {
	seen := map[model.ObjectRef]bool{}
	for name, parts := range e.Offered {
		if name.Type != resource.Routes {
			continue
		}
		for _, p := range parts {
			for _, f := range p.Fragments {
				if k := f.Origin.Object.Kind(); k == model.KindHTTPRoute || k == model.KindGRPCRoute {
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

// feature finds a feature of a kind; nil: there is none.
func (s *Store) feature(kind model.Kind, name string) *Feature {
	k, _ := s.Of(kind)
	return k.Of(name)
}
