package route

import (
	"slices"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

// prefixRule is a rule that matches path prefixes.
func prefixRule(prefixes ...string) (r gatewayv1.HTTPRouteRule) {
	for _, p := range prefixes {
		r.Matches = append(r.Matches, gatewayv1.HTTPRouteMatch{Path: &gatewayv1.HTTPPathMatch{Value: &p}})
	}
	return r
}

func ruleNames(specs []gatewayv1.HTTPRouteRule) (names []string) {
	matches := kinds.Routes()[0].Route.Matches(&gatewayv1.HTTPRouteSpec{Rules: specs})
	for _, r := range newRules(model.ObjectRef{}, specs, matches) {
		names = append(names, r.Key.Name)
	}
	return names
}

// TestRuleNames holds that a rule keeps its name whatever stands before it, and that no two have one name.
func TestRuleNames(t *testing.T) {
	given := gatewayv1.SectionName("given")
	a, b, c := prefixRule("/a"), prefixRule("/b", "/c"), gatewayv1.HTTPRouteRule{Name: &given}
	first := ruleNames([]gatewayv1.HTTPRouteRule{a, b, c, a})
	moved := ruleNames([]gatewayv1.HTTPRouteRule{prefixRule("/new"), c, b, a, prefixRule("/newer"), a})
	if first[2] != "given" || moved[1] != "given" {
		t.Errorf("a rule's own name is not kept: %q, %q", first, moved)
	}
	if first[0] != moved[3] || first[1] != moved[2] || first[3] != moved[5] {
		t.Errorf("moved rules have other names: %q, then %q", first, moved)
	}
	slices.Sort(moved)
	if distinct := slices.Compact(slices.Clone(moved)); len(distinct) != len(moved) {
		t.Errorf("rules share a name: %q", moved)
	}
	same := ruleNames([]gatewayv1.HTTPRouteRule{prefixRule("/b", "/c"), prefixRule("/c", "/b"), prefixRule("/b/", "/c")})
	if same[0] == same[1] || same[2] != same[0]+".1" {
		t.Errorf("names go by the meaning of matches, in their order: %q", same)
	}
}

// TestConnectionRuleNames: a rule for connections is named by its backends, so it keeps its name when rules move, and
// when weights change.
func TestConnectionRuleNames(t *testing.T) {
	rule := func(name gatewayv1.ObjectName, weight *int32) gatewayv1.HTTPRouteRule {
		to := gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{Name: name}, Weight: weight}
		return gatewayv1.HTTPRouteRule{BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: to}}}
	}
	names := func(specs ...gatewayv1.HTTPRouteRule) (list []string) {
		for _, r := range newConnectionRules(model.ObjectRef{}, specs, make([][]model.Match, len(specs))) {
			list = append(list, r.Key.Name)
		}
		return list
	}
	first := names(rule("a", nil), rule("b", nil), rule("b", nil))
	moved := names(rule("b", nil), rule("new", nil), rule("b", nil), rule("a", new(int32(3))))
	if first[0] != moved[3] || first[1] != moved[0] || first[2] != moved[2] || first[1] == first[2] ||
		first[0] == first[1] {
		t.Errorf("moved rules have other names: %q, then %q", first, moved)
	}
}
