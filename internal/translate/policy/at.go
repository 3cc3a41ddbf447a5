package policy

import (
	"slices"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/model"
)

// At are the features that are in force or turned off for the connections of a listener, and those for a rule there.
// Those of each kind are together, by name.
func (m *Meaning) At(s Sight, gateway model.ObjectRef, listener model.ListenerKey, rule model.RuleKey) (
	list []RulePiece,
) {
	if m.Levels == nil {
		return nil
	}
	r, _ := see(s, m.Routes, rule.Route)
	own := rulePieces(r.at(listener), rule)
	levels, _ := see(s, m.byGateway, gateway)
	list = m.AtListener(s, listener)
	for _, kind := range m.Store.atRules() {
		for _, f := range kind.Features {
			if f.EachLevel {
				for k, l := range levels.All() {
					of := k.Kind == kind.Kind && k.Feature == f.Name
					if of && (k.Section == "" || k.Section == listener.Section) {
						list = append(list, RulePiece{kind.Kind, l.Piece})
					}
				}
			}
			if p, found := own[pieceKey{kind.Kind, f.Name}]; found && !(f.EachLevel && p.JSON == "") {
				list = append(list, p)
				continue
			}
			if f.EachLevel {
				continue
			}
			var nearest *Piece
			for k, l := range levels.All() {
				of := k.Kind == kind.Kind && k.Feature == f.Name
				if of && (k.Section == "" && nearest == nil || k.Section == listener.Section) {
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

// AtRef are the features for the requests that a rule sends to one of its backends, the one at an index of its
// backendRefs.
func (m *Meaning) AtRef(s Sight, listener model.ListenerKey, rule model.RuleKey, index int) (list []RulePiece) {
	if m.Levels == nil {
		return nil
	}
	r, _ := see(s, m.Routes, rule.Route)
	for _, of := range r.at(listener) {
		for _, ref := range of.Refs {
			if of.Rule == rule && ref.Index == index {
				list = append(list, ref.Pieces...)
			}
		}
	}
	return list
}

// ForRules tells whether a Gateway or one of its listeners states something for the requests that rules take.
func (m *Meaning) ForRules(s Sight, gateway model.ObjectRef, listener model.ListenerKey) bool {
	return len(m.At(s, gateway, listener, model.RuleKey{})) > len(m.AtListener(s, listener))
}

// AtListener are the features for the connections of a listener.
func (m *Meaning) AtListener(s Sight, k model.ListenerKey) []RulePiece {
	if m.Ports == nil {
		return nil
	}
	l, _ := see(s, m.in.Plan.Listeners, k)
	p, _ := see(s, m.Ports, l.Port)
	return p.ofListener(k)
}

type pieceKey struct {
	kind    model.Kind
	feature string
}

// rulePieces are those of one rule.
func rulePieces(rules []RulePieces, rule model.RuleKey) map[pieceKey]RulePiece {
	found := map[pieceKey]RulePiece{}
	i := slices.IndexFunc(rules, func(r RulePieces) bool { return r.Rule == rule })
	if i < 0 {
		return found
	}
	for _, p := range rules[i].Pieces {
		found[pieceKey{p.Kind, p.Feature}] = p
	}
	return found
}

// at are the pieces at a listener.
func (r Route) at(listener model.ListenerKey) []RulePieces {
	for _, at := range r.At {
		if at.Listener == listener {
			return at.Rules
		}
	}
	return r.Rules
}

// Decisions are what a piece's feature decides of a request of an agent.
func (m *Meaning) Decisions(p RulePiece, q extend.Request) []extend.Decision {
	f := m.Store.feature(p.Kind, p.Feature)
	if f == nil || f.Decide == nil || p.Shown == "" {
		return nil
	}
	return f.Decide(q, []byte(p.Shown))
}

// WordsOf are what a piece's feature tells of it.
func (m *Meaning) WordsOf(p RulePiece) []string {
	f := m.Store.feature(p.Kind, p.Feature)
	if f == nil || f.Words == nil || p.Shown == "" {
		return nil
	}
	return f.Words([]byte(p.Shown))
}
