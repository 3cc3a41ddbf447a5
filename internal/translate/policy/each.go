package policy

import (
	"encoding/json"
	"slices"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/model"
)

// mergeEachLevel gathers the statements of a feature that is Unmerged: every level counts, nothing is merged, and
// nothing is lost.
func mergeEachLevel(f *Feature, kind model.Kind, levels []statements) Effective {
	e := Effective{Feature: f.Name}
	var all extend.Each
	for _, l := range levels {
		level := extend.EachLevel{Level: l.Level.extendName()}
		for _, s := range l.List {
			one := extend.EachPolicy{
				Name: nameOf(s.Policy, kind), Kind: s.Policy.Kind().String(), Namespace: s.Policy.Namespace(),
				Spec: json.RawMessage(s.JSON), Invalid: s.Unreadable,
			}
			level.Policies = append(level.Policies, one)
			if one.Invalid {
				e.Fields = append(e.Fields, EffectiveField{"", "{}", s.Source})
				continue
			}
			for _, leaf := range f.merge.Leaves(decodeJSON(s.JSON)) {
				e.Fields = append(e.Fields, EffectiveField{leaf.Path, leaf.JSON, s.Source})
			}
			if s.JSON == "{}" { // it states that nothing is allowed
				e.Fields = append(e.Fields, EffectiveField{"", s.JSON, s.Source})
			}
		}
		if len(level.Policies) > 0 {
			all.Levels = append(all.Levels, level)
		}
	}
	if len(all.Levels) > 0 {
		e.JSON = encodeJSON(all)
	}
	return e
}

// nameOf is a policy's name among those of a kind, and of kinds that count as it.
func nameOf(ref model.ObjectRef, kind model.Kind) string {
	if ref.Kind() == kind {
		return ref.NamespacedName()
	}
	return ref.String()
}

// extendName is the level in one word.
func (l Level) extendName() string {
	switch l {
	case LevelClass:
		return "class"
	case LevelGateway:
		return "gateway"
	case LevelListener:
		return "listener"
	case LevelRoute:
		return "route"
	case LevelRule:
		return "rule"
	case LevelExtension:
		return "extension"
	default:
		return "backend"
	}
}

// agentFeatures are the kind's features that a rule needs to have read what agents ask for, where they are stated at
// all.
func (r *ruleScope) agentFeatures(stating []*Feature, index levelFeature) (list []*Feature) {
	for _, f := range r.policyKind.Features {
		if f.Agents.Rendered == nil {
			continue
		}
		for _, b := range r.rule.Backends {
			if b.MCP && (slices.Contains(stating, f) || slices.Contains(index.Agents, f.Name) ||
				!noStatements(r.onBackend(b.Backend.Object, f))) {
				list = append(list, f)
				break
			}
		}
	}
	return list
}

// onBackend is what policies on a backend state for the requests of rules to it.
func (r *ruleScope) onBackend(backend model.ObjectRef, f *Feature) []statements {
	if !f.Levels.Has(extend.AtRuleBackend) {
		return nil
	}
	return []statements{statementsAt(r.m.Store.policiesOn(r.c, backend, r.policyKind.Kind), "", LevelBackend, f.Name)}
}

// addAgents adds what reads what agents ask for.
func (r *ruleScope) addAgents(out *RulePieces, f *Feature) {
	scope := r.newScope()
	rendered, _ := scope.renderFunc(scope.renderer, f.Agents.Rendered, r.ref)
	for i := range out.Pieces {
		if p := &out.Pieces[i]; p.Kind == r.policyKind.Kind && p.Feature == f.Name {
			p.Agents = rendered.Settings
			return
		}
	}
	out.Pieces = append(out.Pieces, RulePiece{r.policyKind.Kind, Piece{
		Effective: Effective{Feature: f.Name}, Agents: rendered.Settings,
	}})
}
