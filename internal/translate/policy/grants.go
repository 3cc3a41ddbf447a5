package policy

import (
	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// ToBackend are the features for the requests that a rule sends to the backend at an index of its backendRefs: those of
// all levels, and those of the backend.
func (m *Translator) ToBackend(
	s Snapshot, gateway model.ObjectRef, listener model.ListenerKey, rule model.RuleKey, index int,
) []RulePiece {
	return append(m.PiecesAt(s, gateway, listener, rule), m.PiecesAtRef(s, listener, rule, index)...)
}

// ListGrants are who may ask a backend that speaks MCP for what, where a rule sends requests to it. Callers and tools
// are those that the pieces name, and those that others name. stated is false if no piece says who may: everybody may.
func (m *Translator) ListGrants(pieces, others []RulePiece) (list []extend.Grant, stated bool) {
	f, values := m.findGranting(pieces)
	of, named := m.findGranting(others)
	if stated = len(values) > 0; f == nil {
		f = of
	}
	if f != nil {
		list = f.Agents.Grants(values, named)
	}
	return list, stated
}

// NamedTools are those that the rules of pieces name.
func (m *Translator) NamedTools(pieces []RulePiece) []extend.NamedTool {
	f, values := m.findGranting(pieces)
	if f == nil || f.Agents.Tools == nil {
		return nil
	}
	return f.Agents.Tools(values)
}

// findGranting is the feature that grants, and what it shows in pieces.
func (m *Translator) findGranting(pieces []RulePiece) (f *Feature, shown []string) {
	for _, p := range pieces {
		if of := m.Store.findFeature(p.Kind, p.Feature); of != nil && of.Agents.Grants != nil && p.PublicJSON != "" {
			f, shown = of, append(shown, p.PublicJSON) // there is one
		}
	}
	return f, shown
}

// ChangedGrants are the Gateways and routes at which the edits of a Try may change who may ask for what.
func (m *Translator) ChangedGrants(v flow.View) (gateways, routes map[model.ObjectRef]bool) {
	gateways, routes = map[model.ObjectRef]bool{}, map[model.ObjectRef]bool{}
	if m.Levels == nil {
		return gateways, routes
	}
	for change := range flow.StagedChanges(v, m.Levels) {
		if f := m.Store.findFeature(change.Key.Kind, change.Key.Feature); f != nil && f.Agents.Grants != nil {
			gateways[change.Key.Gateway] = true
		}
	}
	for change := range flow.StagedChanges(v, m.Routes) {
		routes[change.Key] = true
	}
	for change := range flow.StagedChanges(v, m.inputs.Plan.Routes) {
		routes[change.Key] = true
	}
	return gateways, routes
}
