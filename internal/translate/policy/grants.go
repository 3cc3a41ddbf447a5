package policy

import (
	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// ToBackend are the features for the requests that a rule sends to the backend at an index of its backendRefs: those of
// all levels, and those of the backend.
func (m *Meaning) ToBackend(
	s Sight, gateway model.ObjectRef, listener model.ListenerKey, rule model.RuleKey, index int,
) []RulePiece {
	return append(m.At(s, gateway, listener, rule), m.AtRef(s, listener, rule, index)...)
}

// Grants are who may ask a backend that speaks MCP for what, where a rule sends requests to it. Callers and tools are
// those that the pieces name, and those that others name. stated is false if no piece says who may: everybody may.
func (m *Meaning) Grants(pieces, others []RulePiece) (list []extend.Grant, stated bool) {
	f, values := m.granting(pieces)
	of, named := m.granting(others)
	if stated = len(values) > 0; f == nil {
		f = of
	}
	if f != nil {
		list = f.Grants(values, named)
	}
	return list, stated
}

// Tools are those that the rules of pieces name.
func (m *Meaning) Tools(pieces []RulePiece) []extend.NamedTool {
	f, values := m.granting(pieces)
	if f == nil || f.Tools == nil {
		return nil
	}
	return f.Tools(values)
}

// granting is the feature that grants, and what it shows in pieces.
func (m *Meaning) granting(pieces []RulePiece) (f *Feature, shown []string) {
	for _, p := range pieces {
		if of := m.Store.feature(p.Kind, p.Feature); of != nil && of.Grants != nil && p.Shown != "" {
			f, shown = of, append(shown, p.Shown) // there is one
		}
	}
	return f, shown
}

// Regranted are the Gateways and routes at which the edits of a Try may change who may ask for what.
func (m *Meaning) Regranted(v flow.View) (gateways, routes map[model.ObjectRef]bool) {
	gateways, routes = map[model.ObjectRef]bool{}, map[model.ObjectRef]bool{}
	if m.Levels == nil {
		return gateways, routes
	}
	for change := range flow.Staged(v, m.Levels) {
		if f := m.Store.feature(change.Key.Kind, change.Key.Feature); f != nil && f.Grants != nil {
			gateways[change.Key.Gateway] = true
		}
	}
	for change := range flow.Staged(v, m.Routes) {
		routes[change.Key] = true
	}
	for change := range flow.Staged(v, m.in.Plan.Routes) {
		routes[change.Key] = true
	}
	return gateways, routes
}
