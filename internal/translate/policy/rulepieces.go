package policy

import (
	"iter"
	"slices"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// RoutePieces is what policies come to at a route's rules, where something narrower than a listener states it.
type RoutePieces struct {
	Rules []RulePieces // of those rules that have some, at the first place
	At    []ListenerPieces
}

// ListenerPieces are those of a route's rules at a listener where they are others.
type ListenerPieces struct {
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
	Forgeable []forgeableHeader
	Closed    []plan.Setting
}

// RulePiece is a feature of a kind at a rule or a backend.
type RulePiece struct {
	Kind model.Kind
	Piece
}

// isEmpty tells whether nothing is stated for the rule.
func (r RulePieces) isEmpty() bool { return len(r.Pieces)+len(r.Fields)+len(r.Refs)+len(r.Closed) == 0 }

// ruleFindings are those on what no policy states, at all places.
func (r RoutePieces) ruleFindings() (list []Finding) {
	for _, rules := range append([]ListenerPieces{{Rules: r.Rules}}, r.At...) {
		for _, rule := range rules.Rules {
			list = append(list, rule.Findings...)
		}
	}
	return list
}

// allPieces are those of all rules, at all places.
func (r RoutePieces) allPieces() iter.Seq2[model.RuleKey, RulePiece] {
	return func(yield func(model.RuleKey, RulePiece) bool) {
		for _, rules := range append([]ListenerPieces{{Rules: r.Rules}}, r.At...) {
			for _, rule := range rules.Rules {
				for p := range rule.allPieces() {
					if !yield(rule.Rule, p) {
						return
					}
				}
			}
		}
	}
}

// toSettings are what is rendered of it.
func (r RoutePieces) toSettings() plan.RouteSettings {
	s := plan.RouteSettings{Rules: settingsOfRules(r.Rules)}
	for _, at := range r.At {
		s.AtListeners = append(s.AtListeners, plan.RuleSettingsAtListener{Listener: at.Listener,
			Rules: settingsOfRules(at.Rules)})
	}
	return s
}

// concatLists is a list after another one. Where one of them is empty, it is the other one, and takes no memory.
func concatLists[T any](list, more []T) []T {
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
		if r.isEmpty() {
			continue
		}
		own := plan.RuleSettings{Rule: r.Rule, Own: r.Closed, Fields: r.Fields}
		for _, p := range r.Pieces {
			own.Own = concatLists(concatLists(own.Own, p.Agents), p.Rendered.Settings)
			own.Fields = concatLists(own.Fields, p.Rendered.Fields)
		}
		r.addRefs(&own)
		all = append(all, own)
	}
	return all
}
