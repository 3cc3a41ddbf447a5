package policy

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/policy/merge"
)

// A policy that protects and can't be read closes what it is for: it states a feature that no user can state, and that
// can never be served. Where one feature is all that a kind states, it is told to that (extend.EachPolicy.Invalid).

// closingFeature is the name of the feature.
const closingFeature = "$closed"

// closingSchema is that of what is stated of it: why the policy can't be read.
const closingSchema = `{"type":"string"}`

// addClosing adds the feature to a kind that protects. It is denied at all levels at which the kind has features.
func (k *Kind) addClosing(declared *kind.Kind) error {
	if k.protects = declared.Protects; k.protects == nil || k.FindFeature(extend.Whole) != nil {
		return nil
	}
	f := extend.Feature[string, struct{}]{
		Kind: k.Kind.String(), Name: closingFeature, Schema: []byte(closingSchema), OnInvalid: extend.Deny,
		Read: func(r extend.Reader, why string) (none struct{}) {
			r.Deny(fmt.Sprintf("the policy can't be read, so its targets are closed: %s", why))
			return none
		},
	}
	for _, levels := range []extend.Levels{extend.AtRule, extend.AtListener, extend.AtBackend} {
		if k.hasLevels(levels) {
			f.Levels |= levels
		}
	}
	t, err := merge.New(f.Schema)
	k.Features = append(k.Features, &Feature{f.Plug().Feature, t})
	return err
}

// closeTargets has a policy close what it is for.
func (p *policy) closeTargets(k Kind, why string) {
	p.ClosedReason = why
	stated := input.FeatureSpec{Name: closingFeature, JSON: encodeJSON(why)}
	if k.FindFeature(extend.Whole) != nil {
		stated = input.FeatureSpec{Name: extend.Whole, JSON: "{}"}
	}
	p.Features = append(slices.Clip(p.Features), stated) // those of the object stay as they are
}

// statesNothing tells a policy that has no effect on its targets.
func (p *policy) statesNothing() bool { return len(p.Features) == 0 && len(p.Disable) == 0 }

// closedPolicy is a policy in place of one that can't be read.
func (s *Store) closedPolicy(_ *flow.Ctx, ref model.ObjectRef, c input.ClosedTargets) (*policy, bool) {
	k, known := s.FindKind(ref.Kind())
	if !known {
		return nil, false
	}
	p := &policy{Age: ageOrder(time.Time{})}
	for _, t := range c.Targets {
		namespace := ref.Namespace()
		if t.Kind == model.KindGatewayClass {
			namespace = ""
		}
		if t.Name != "" {
			p.Targets = append(p.Targets, Target{model.Ref(t.Kind, namespace, t.Name), t.Section})
		} else {
			p.Selectors = append(p.Selectors,
				selector{Kind: t.Kind, Labels: t.Labels, All: len(t.Labels) == 0, Section: t.Section})
		}
	}
	p.closeTargets(k, c.Why)
	return p, true
}

// unreadableReason is why a policy from an API server can't be read: the server's definition may be of a newer version;
// "": it can. A feature that is known refuses by itself what it does not know.
func (k Kind) unreadableReason(spec *input.PolicySpec) string {
	if k.protects == nil {
		return ""
	}
	unknown := map[string]any{}
	for _, f := range spec.Features {
		if k.FindFeature(f.Name) == nil || f.Name == closingFeature {
			unknown[f.Name] = nil
		}
	}
	const newer = "this version of Cardea does not know "
	switch {
	case len(unknown) > 0 && k.protects.Protects(unknown):
		return newer + model.JoinSome(slices.Sorted(maps.Keys(unknown)))
	case !slices.Contains([]input.Strategy{"", input.PatchDefaults, input.PatchOverrides}, spec.Strategy) &&
		k.protects.Protects(asFeatureMap(spec)):
		return fmt.Sprintf("%sstrategy %q", newer, spec.Strategy)
	}
	return ""
}

// asFeatureMap are those of a spec, as a protection is asked.
func asFeatureMap(spec *input.PolicySpec) map[string]any {
	all := map[string]any{}
	for _, f := range spec.Features {
		all[f.Name] = nil
	}
	return all
}

// closedRules are the rules of a route for connections that policies close. Such a route can be no target; but a policy
// that names one can't be read, and so closes it.
func (q *routeScope) closedRules() (list []RulePieces) {
	if _, touched := flow.Fetch(q.c, q.m.Store.byTarget, q.ref); !touched {
		return nil
	}
	for _, rule := range q.route.Rules {
		p := RulePieces{Rule: rule.Key}
		for _, k := range q.m.Store.atRules() {
			own := q.m.Store.policiesOn(q.c, q.ref, k.Kind)
			for at, stated := range own.All() {
				if stated.ClosedReason == "" || at.Target.Section != "" && at.Target.Section != rule.Key.Name {
					continue
				}
				piece := Piece{
					Effective: Effective{Feature: closingFeature, Fields: []EffectiveField{{
						From: Source{Policy: at.Policy, Level: LevelRoute},
					}}},
					Status: http.StatusInternalServerError,
					Findings: []Finding{{
						Policy: at.Policy, Field: "spec", Message: "it can't be read, so its targets are closed: " + stated.ClosedReason,
					}},
				}
				scope := q.m.newScope(q.c, k, q.route.DataPlaneOf(q.gateway()))
				_, piece.Rendered = scope.renderDenied(piece.Status, closingFeature, at.Policy)
				p.Pieces = append(p.Pieces, RulePiece{k.Kind, piece})
			}
		}
		if len(p.Pieces) > 0 {
			list = append(list, p)
		}
	}
	return list
}

// gateway is one that serves the route.
func (q *routeScope) gateway() (ref model.ObjectRef) {
	if len(q.route.Gateways) > 0 {
		ref = q.route.Gateways[0].Ref
	}
	return ref
}
