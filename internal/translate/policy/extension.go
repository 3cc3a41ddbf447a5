package policy

import (
	"slices"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// forRules tells whether a feature is stated for rules, be it only by policies that they name.
func (f *Feature) forRules() bool { return f.Levels&(extend.AtRule|extend.AtExtension) != 0 }

// inOrder are the features in the order of their fields of routes. A feature that answers comes last: its answer
// replaces fields of the others.
func (k Kind) inOrder() []*Feature {
	list := slices.Clone(k.Features)
	slices.SortStableFunc(list, func(a, b *Feature) int {
		switch {
		case a.Answers == b.Answers:
			return 0
		case a.Answers:
			return 1
		}
		return -1
	})
	return list
}

// Answers tells whether a policy, which a rule names, answers requests in place of the rule's backends.
func (s *Store) Answers(c *flow.Ctx, ref model.ObjectRef) bool {
	_, found := s.statesOf(c, ref, func(p *policy, f *Feature) bool {
		_, stated := p.spec(f.Name) // not only turned off
		return stated && f.Answers
	})
	return found
}

// MCPServer tells whether a policy, which a rule names, makes a server of MCP of the rule's backends.
func (s *Store) MCPServer(c *flow.Ctx, ref model.ObjectRef) bool {
	_, found := s.statesOf(c, ref, func(p *policy, f *Feature) bool { return f.MCPServer && p.states(f.Name) })
	return found
}

// Misplaced finds what a policy states that can't be stated for one of a rule's backends.
func (s *Store) Misplaced(c *flow.Ctx, ref model.ObjectRef) (feature string, found bool) {
	return s.statesOf(c, ref, func(p *policy, f *Feature) bool {
		return p.states(f.Name) && !f.Levels.Has(extend.AtBackendRef)
	})
}

// AtBackendRef are the names of a kind's features that can be stated for one of a rule's backends.
func (k Kind) AtBackendRef() (names []string) {
	for _, f := range k.Features {
		if f.Levels.Has(extend.AtBackendRef) {
			names = append(names, f.Name)
		}
	}
	return names
}

// statesOf finds a feature of a policy.
func (s *Store) statesOf(
	c *flow.Ctx, ref model.ObjectRef, is func(*policy, *Feature) bool,
) (feature string, found bool) {
	p, found := flow.Fetch(c, s.policies, ref)
	if !found {
		return "", false
	}
	kind, _ := s.Of(ref.Kind())
	for _, f := range kind.Features {
		if is(p, f) {
			return f.Name, true
		}
	}
	return "", false
}

const needsNoTargets = "it counts only in a policy without targets, which the filters of a rule name in an " +
	"extensionRef; put it into a policy of its own"

// targeted tells whether a policy has targets, whether these exist or not.
func (p *policy) targeted() bool { return len(p.Targets)+len(p.Selectors) > 0 }

// misplaced are the findings on features that can't be stated for targets.
func (s *Store) misplaced(ref model.ObjectRef, p *policy) (list []model.Finding) {
	kind, _ := s.Of(ref.Kind())
	for _, f := range kind.Features {
		if p.targeted() && f.Levels&^(extend.AtExtension|extend.AtBackendRef) == 0 && p.states(f.Name) {
			list = append(list, model.Finding{
				Object: ref, Condition: "Accepted", Reason: "Invalid", Field: fieldOf(f.Name, ""), Message: needsNoTargets,
			})
		}
	}
	return list
}

// checkExtension refuses a feature of a policy with targets that can't be stated for any.
func (r *ruleScope) checkExtension(f *Feature, in *scope) {
	if f.Levels.Has(atRule) {
		return
	}
	for _, ref := range r.rule.Policies {
		p, found := flow.Fetch(r.c, r.m.Store.policies, ref)
		if found && ref.Kind() == r.kind.Kind && p.states(f.Name) && p.targeted() {
			in.refuse(f, needsNoTargets)
		}
	}
}

// direct tells whether the rule answers by itself.
func (r *ruleScope) direct() bool {
	return r.rule.Error == 0 && (r.rule.Redirect != nil || r.rule.Answers)
}

const noEffect = "it has no effect on rules that answer by themselves, with a redirect or a direct response"

// withoutEffect is true for a feature that does not hold for the rule, which answers by itself: what is inherited is
// left out, and only explanations tell of it. A statement for the rule itself is refused, and read all the same.
func (r *ruleScope) withoutEffect(f *Feature, broad level, in *scope, out *RulePieces) bool {
	list := r.statements(f)
	for _, l := range list {
		if l.Level != LevelRoute && len(l.List) > 0 {
			in.refuse(f, noEffect+"; state it for other rules")
			return false
		}
	}
	if _, own := r.ownFields(f); own {
		return false // which is refused where the rule is read
	}
	e := effective(f.Name, f.merge, append(slices.Clone(broad.Stated), list...))
	if e.JSON == "" {
		return false
	}
	out.Pieces = append(out.Pieces, RulePiece{r.kind.Kind, Piece{Effective: Effective{Feature: f.Name}, Idle: noEffect}})
	return true
}

// statedWith are all statements of a feature for the rule, from broad to narrow.
func (r *ruleScope) statedWith(f *Feature, broad level, own string, stated bool) []statements {
	list := r.statements(f)
	if !f.EachLevel {
		list = append(slices.Clone(broad.Stated), list...)
	}
	if stated {
		list = append(list, statements{LevelOwn, []statement{{Source: Source{Level: LevelOwn}, JSON: own}}})
	}
	return list
}

// refuse makes a feature invalid, whatever its value.
func (s *scope) refuse(f *Feature, message string) {
	if s.refusals == nil {
		s.refusals = map[string]string{}
	}
	s.refusals[f.Name] = message
}

// refusedAs tells a refusal.
func (s *scope) refusedAs(f *Feature, told *problems) {
	if message := s.refusals[f.Name]; message != "" {
		told.refused = true
		told.add("", Finding{Condition: "Accepted", Reason: "Invalid", Message: message})
	}
}
