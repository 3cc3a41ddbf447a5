package policy

import (
	"iter"
	"slices"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// Route is what policies come to at a route's rules, where something narrower than a listener states it.
type Route struct {
	Rules []RulePieces // of those rules that have some, at the first place
	At    []PlacePieces
}

// PlacePieces are those of a route's rules at a listener where they are others.
type PlacePieces struct {
	Listener model.ListenerKey
	Rules    []RulePieces
}

// RulePieces are those of a rule.
type RulePieces struct {
	Rule   model.RuleKey
	Pieces []RulePiece
	// Fields are those of broader levels that stand in every route of a proxy.
	Fields model.Encoded
	// Refs are the pieces of its backendRefs for which a policy states something.
	Refs []RefPieces
	// Findings are on what no policy states.
	Findings []Finding
	// Forgeable are the headers of its matches that clients could forge; Closed is what answers in place of the rule then.
	Forgeable []forgeable
	Closed    []plan.Setting
}

// RulePiece is a feature of a kind at a rule or a backend.
type RulePiece struct {
	Kind model.Kind
	Piece
}

// empty tells whether nothing is stated for the rule.
func (r RulePieces) empty() bool { return len(r.Pieces)+len(r.Fields)+len(r.Refs)+len(r.Closed) == 0 }

// findings are those on what no policy states, at all places.
func (r Route) findings() (list []Finding) {
	for _, rules := range append([]PlacePieces{{Rules: r.Rules}}, r.At...) {
		for _, rule := range rules.Rules {
			list = append(list, rule.Findings...)
		}
	}
	return list
}

// pieces are those of all rules, at all places.
func (r Route) pieces() iter.Seq2[model.RuleKey, RulePiece] {
	return func(yield func(model.RuleKey, RulePiece) bool) {
		for _, rules := range append([]PlacePieces{{Rules: r.Rules}}, r.At...) {
			for _, rule := range rules.Rules {
				for p := range rule.all() {
					if !yield(rule.Rule, p) {
						return
					}
				}
			}
		}
	}
}

// settings are what is rendered of it.
func (r Route) settings() plan.RouteSettings {
	s := plan.RouteSettings{Rules: settingsOfRules(r.Rules)}
	for _, at := range r.At {
		s.At = append(s.At, plan.PlaceSettings{Listener: at.Listener, Rules: settingsOfRules(at.Rules)})
	}
	return s
}

// joined is a list after another one. Where one of them is empty, it is the other one, and takes no memory.
func joined[T any](list, more []T) []T {
	switch {
	case len(more) == 0:
		return slices.Clip(list)
	case len(list) == 0:
		return slices.Clip(more)
	}
	return slices.Concat(list, more)
}

func settingsOfRules(list []RulePieces) (all []plan.RuleSettings) {
	for _, r := range list {
		if r.empty() {
			continue
		}
		own := plan.RuleSettings{Rule: r.Rule, Own: r.Closed, Fields: r.Fields}
		for _, p := range r.Pieces {
			own.Own = joined(joined(own.Own, p.Agents), p.Rendered.Settings)
			own.Fields = joined(own.Fields, p.Rendered.Fields)
		}
		r.addRefs(&own)
		all = append(all, own)
	}
	return all
}
