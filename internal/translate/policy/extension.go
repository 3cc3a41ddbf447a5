package policy

import (
	"slices"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// forRules tells whether a feature is stated for rules, be it only by policies that they name.
func (f *Feature) forRules() bool { return f.Levels&(extend.AtRule|extend.AtExtension) != 0 }

// answers tells whether a feature answers requests in place of a rule's backends.
func (f *Feature) answers() bool { return f.Effect == extend.AnswersRequests }

// inOrder are the features in the order of their fields of routes. A feature that answers comes last: its answer
// replaces fields of the others.
func (k Kind) inOrder() []*Feature {
	list := slices.Clone(k.Features)
	slices.SortStableFunc(list, func(a, b *Feature) int {
		switch {
		case a.answers() == b.answers():
			return 0
		case a.answers():
			return 1
		}
		return -1
	})
	return list
}

// AnswersRequests tells whether a policy, which a rule names, answers requests in place of the rule's backends.
func (s *Store) AnswersRequests(c *flow.Ctx, ref model.ObjectRef) bool {
	_, found := s.statesOf(c, ref, func(p *policy, f *Feature) bool {
		_, stated := p.featureSpec(f.Name) // not only turned off
		return stated && f.answers()
	})
	return found
}

// MakesMCPServer tells whether a policy, which a rule names, makes a server of MCP of the rule's backends.
func (s *Store) MakesMCPServer(c *flow.Ctx, ref model.ObjectRef) bool {
	_, found := s.statesOf(c, ref, func(p *policy, f *Feature) bool {
		return f.Effect == extend.MakesMCPServer && p.statesFeature(f.Name)
	})
	return found
}

// MisplacedFeature finds what a policy states that can't be stated for one of a rule's backends.
func (s *Store) MisplacedFeature(c *flow.Ctx, ref model.ObjectRef) (feature string, found bool) {
	return s.statesOf(c, ref, func(p *policy, f *Feature) bool {
		return p.statesFeature(f.Name) && !f.Levels.Has(extend.AtBackendRef)
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
	kind, _ := s.FindKind(ref.Kind())
	for _, f := range kind.Features {
		if is(p, f) {
			return f.Name, true
		}
	}
	return "", false
}

const needsNoTargets = "it has an effect only in a policy without targets that the filters of a rule name in an " +
	"extensionRef; put it into its own policy"

// hasTargets tells whether a policy has targets, whether these exist or not.
func (p *policy) hasTargets() bool { return len(p.Targets)+len(p.Selectors) > 0 }

// misplacedFindings are the findings on features that can't be stated for targets.
func (s *Store) misplacedFindings(ref model.ObjectRef, p *policy) (list []model.Finding) {
	kind, _ := s.FindKind(ref.Kind())
	for _, f := range kind.Features {
		if p.hasTargets() && f.Levels&^(extend.AtExtension|extend.AtBackendRef) == 0 && p.statesFeature(f.Name) {
			list = append(list, model.Finding{
				Object: ref, Condition: "Accepted", Reason: "Invalid", Field: fieldOf(f.Name, ""), Message: needsNoTargets,
			})
		}
	}
	return list
}

// checkExtension refuses a feature of a policy with targets that can't be stated for any.
func (r *ruleScope) checkExtension(f *Feature, in *featureScope) {
	if f.Levels.Has(atRule) {
		return
	}
	for _, ref := range r.rule.Policies {
		p, found := flow.Fetch(r.c, r.m.Store.policies, ref)
		if found && ref.Kind() == r.policyKind.Kind && p.statesFeature(f.Name) && p.hasTargets() {
			in.refuseFeature(f, needsNoTargets)
		}
	}
}

// answersDirectly tells whether the rule answers by itself.
func (r *ruleScope) answersDirectly() bool {
	return r.rule.Error == 0 && (r.rule.Redirect != nil || r.rule.PolicyAnswers)
}

const noEffect = "it has no effect on rules that answer by themselves, with a redirect or a direct response"

// withoutEffect is true for a feature that does not hold for the rule, which answers by itself: what is inherited is
// left out, and only explanations tell of it. A statement for the rule itself is refused, and read all the same.
func (r *ruleScope) withoutEffect(f *Feature, broad levelFeature, in *featureScope, out *RulePieces) bool {
	list := r.ownStatements(f)
	for _, l := range list {
		if l.Level != LevelRoute && len(l.List) > 0 {
			in.refuseFeature(f, noEffect+"; state it for other rules")
			return false
		}
	}
	if _, own := r.ownFields(f); own {
		return false // which is refused where the rule is read
	}
	e := mergeStatements(f.Name, f.merge, append(slices.Clone(broad.Stated), list...))
	if e.JSON == "" {
		return false
	}
	out.Pieces = append(out.Pieces, RulePiece{r.policyKind.Kind, Piece{Effective: Effective{Feature: f.Name},
		Idle: noEffect}})
	return true
}

// statedWith are all statements of a feature for the rule, from broad to narrow.
func (r *ruleScope) statedWith(f *Feature, broad levelFeature, own string, stated bool) []statements {
	list := r.ownStatements(f)
	if f.Unmerged == nil {
		list = append(slices.Clone(broad.Stated), list...)
	}
	if stated {
		list = append(list, statements{LevelOwn, []statement{{Source: Source{Level: LevelOwn}, JSON: own}}})
	}
	return list
}

// refuseFeature makes a feature invalid, whatever its value.
func (s *featureScope) refuseFeature(f *Feature, message string) {
	if s.refusals == nil {
		s.refusals = map[string]string{}
	}
	s.refusals[f.Name] = message
}

// reportRefusal tells a refusal.
func (s *featureScope) reportRefusal(f *Feature, told *problemCollector) {
	if message := s.refusals[f.Name]; message != "" {
		told.refused = true
		told.addFinding("", Finding{Condition: "Accepted", Reason: "Invalid", Message: message})
	}
}
