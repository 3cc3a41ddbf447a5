package gateway

import (
	"slices"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// unnamed is a rule that matches path prefixes.
func unnamed(prefixes ...string) gatewayv1.HTTPRouteRule {
	var r gatewayv1.HTTPRouteRule
	for _, p := range prefixes {
		r.Matches = append(r.Matches, gatewayv1.HTTPRouteMatch{Path: &gatewayv1.HTTPPathMatch{Value: &p}})
	}
	return r
}

func ruleNames(specs []gatewayv1.HTTPRouteRule) (names []string) {
	for _, r := range newRules(model.ObjectRef{}, specs, httpMatches(specs)) {
		names = append(names, r.Key.Name)
	}
	return names
}

// TestRuleNames holds that a rule keeps its name whatever stands before it, and that no two have one name.
func TestRuleNames(t *testing.T) {
	given := gatewayv1.SectionName("given")
	a, b, c := unnamed("/a"), unnamed("/b", "/c"), gatewayv1.HTTPRouteRule{Name: &given}
	first := ruleNames([]gatewayv1.HTTPRouteRule{a, b, c, a})
	moved := ruleNames([]gatewayv1.HTTPRouteRule{unnamed("/new"), c, b, a, unnamed("/newer"), a})
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
	same := ruleNames([]gatewayv1.HTTPRouteRule{unnamed("/b", "/c"), unnamed("/c", "/b"), unnamed("/b/", "/c")})
	if same[0] == same[1] || same[2] != same[0]+".1" {
		t.Errorf("names go by the meaning of matches, in their order: %q", same)
	}
}

// TestMatch holds what reading a match makes of names and slashes.
func TestMatch(t *testing.T) {
	value := func(s string) *string { return &s }
	got := httpMatch(gatewayv1.HTTPRouteMatch{
		Path: &gatewayv1.HTTPPathMatch{Value: value("/a//")},
		Headers: []gatewayv1.HTTPHeaderMatch{
			{Name: "X-A", Value: "first"}, {Name: "x-a", Value: "second"}, {Name: "b", Value: "b"},
		},
		QueryParams: []gatewayv1.HTTPQueryParamMatch{{Name: "Q", Value: "1"}, {Name: "q", Value: "2"},
			{Name: "Q", Value: "3"}},
	})
	if got.Path != (model.PathMatch{Type: model.PathPrefix, Value: "/a"}) {
		t.Errorf("path: %v", got.Path)
	}
	if want := []model.ValueMatch{{Name: "x-a", Value: "first"}, {Name: "b", Value: "b"}}; !slices.Equal(got.Headers,
		want) {
		t.Errorf("headers: %v, want %v", got.Headers, want)
	}
	if want := []model.ValueMatch{{Name: "Q", Value: "1"}, {Name: "q", Value: "2"}}; !slices.Equal(got.Query, want) {
		t.Errorf("query: %v, want %v", got.Query, want)
	}
}

func TestIsToken(t *testing.T) {
	for name, want := range map[string]bool{
		"x-a": true, "a_b!#$%&'*+.^`|~": true,
		"": false, "a b": false, "a:": false, ":path": false, "ä": false, "a\n": false, "[a]": false,
	} {
		if isToken(name) != want {
			t.Errorf("isToken(%q) is %v", name, !want)
		}
	}
}
