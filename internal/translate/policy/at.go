package policy

import (
	"slices"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/model"
)

// PiecesAt are the features that are in force or turned off for the connections of a listener, and those for a rule
// there. Those of each kind are together, by name.
func (m *Translator) PiecesAt(s Snapshot, gateway model.ObjectRef, listener model.ListenerKey, rule model.RuleKey) (
	list []RulePiece,
) {
	if m.Levels == nil {
		return nil
	}
	r, _ := lookUp(s, m.Routes, rule.Route)
	own := rulePieces(r.rulesAt(listener), rule)
	levels, _ := lookUp(s, m.levelsByGateway, gateway)
	list = m.PiecesAtListener(s, listener)
	if l, _ := lookUp(s, m.inputs.Plan.Listeners, listener); extend.ConnectionsOf(l.Protocol, l.TLS) != 0 {
		// What is stated for requests counts as the listener's.
		return append(list, own...)
	}
	for _, kind := range m.Store.atRules() {
		for _, f := range kind.Features {
			if f.Unmerged != nil {
				for k, l := range levels.All() {
					of := k.Kind == kind.Kind && k.Feature == f.Name
					if of && (k.Section == "" || k.Section == listener.Level(gateway)) {
						list = append(list, RulePiece{kind.Kind, l.Piece})
					}
				}
			}
			stated := len(list)
			for _, p := range piecesOf(own, kind.Kind, f.Name) {
				if !(f.Unmerged != nil && p.JSON == "") {
					list = append(list, p)
				}
			}
			if len(list) > stated || f.Unmerged != nil {
				continue
			}
			var nearest *Piece
			for k, l := range levels.All() {
				of := k.Kind == kind.Kind && k.Feature == f.Name
				if of && (k.Section == "" && nearest == nil || k.Section == listener.Level(gateway)) {
					nearest = &l.Piece
				}
			}
			if nearest != nil {
				list = append(list, RulePiece{kind.Kind, *nearest})
			}
		}
	}
	return list
}

// PiecesAtRef are the features for the requests that a rule sends to one of its backends, the one at an index of its
// backendRefs.
func (m *Translator) PiecesAtRef(
	s Snapshot, listener model.ListenerKey, rule model.RuleKey, index int,
) (list []RulePiece) {
	if m.Levels == nil {
		return nil
	}
	r, _ := lookUp(s, m.Routes, rule.Route)
	for _, of := range r.rulesAt(listener) {
		for _, ref := range of.Refs {
			if of.Rule == rule && ref.Index == index {
				list = append(list, ref.Pieces...)
			}
		}
	}
	return list
}

// StatesForRules tells whether a Gateway or one of its listeners states something for the requests that rules take.
func (m *Translator) StatesForRules(s Snapshot, gateway model.ObjectRef, listener model.ListenerKey) bool {
	return len(m.PiecesAt(s, gateway, listener, model.RuleKey{})) > len(m.PiecesAtListener(s, listener))
}

// PiecesAtListener are the features for the connections of a listener.
func (m *Translator) PiecesAtListener(s Snapshot, k model.ListenerKey) []RulePiece {
	if m.Ports == nil {
		return nil
	}
	l, _ := lookUp(s, m.inputs.Plan.Listeners, k)
	p, _ := lookUp(s, m.Ports, l.Port)
	return p.ofListener(k)
}

// rulePieces are those of one rule. Several of one kind and feature are there if several policies close the rule.
func rulePieces(rules []RulePieces, rule model.RuleKey) []RulePiece {
	if i := slices.IndexFunc(rules, func(r RulePieces) bool { return r.Rule == rule }); i >= 0 {
		return rules[i].Pieces
	}
	return nil
}

// piecesOf are those of a kind's feature.
func piecesOf(list []RulePiece, kind model.Kind, feature string) (of []RulePiece) {
	for _, p := range list {
		if p.Kind == kind && p.Feature == feature {
			of = append(of, p)
		}
	}
	return of
}

// rulesAt are the pieces at a listener.
func (r RoutePieces) rulesAt(listener model.ListenerKey) []RulePieces {
	for _, at := range r.At {
		if at.Listener == listener {
			return at.Rules
		}
	}
	return r.Rules
}

// DecideRequest are what a piece's feature decides of a request of an agent.
func (m *Translator) DecideRequest(p RulePiece, q extend.Request) []extend.Decision {
	f := m.Store.findFeature(p.Kind, p.Feature)
	if f == nil || f.Agents.Decide == nil || p.PublicJSON == "" {
		return nil
	}
	return f.Agents.Decide(q, []byte(p.PublicJSON))
}

// DescribePiece are what a piece's feature tells of it.
func (m *Translator) DescribePiece(p RulePiece) []string {
	f := m.Store.findFeature(p.Kind, p.Feature)
	if f == nil || f.Describe == nil || p.PublicJSON == "" {
		return nil
	}
	return f.Describe([]byte(p.PublicJSON))
}
