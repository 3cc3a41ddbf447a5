package simulate

import (
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"cardea.dev/cardea/internal/core/request"
)

// TestWitnessesAreTaken: a match takes its first witness, and of the others at least one not, unless it takes
// everything.
func TestWitnessesAreTaken(t *testing.T) {
	text := func(m *matcherv3.StringMatcher) *routev3.HeaderMatcher {
		return &routev3.HeaderMatcher{Name: "x", HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: m}}
	}
	regex := func(expression string) *matcherv3.RegexMatcher { return &matcherv3.RegexMatcher{Regex: expression} }
	exactly := &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: "1"}}
	matching := &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: regex(
		`v[0-9]{2,}(-beta)?`,
	)}}
	for _, m := range []*routev3.RouteMatch{
		{PathSpecifier: &routev3.RouteMatch_PathSeparatedPrefix{PathSeparatedPrefix: "/a"}},
		{PathSpecifier: &routev3.RouteMatch_Path{Path: "/a"}},
		{PathSpecifier: &routev3.RouteMatch_SafeRegex{SafeRegex: regex(`/(api|v1)/[^/]+/\d{2}x*`)}},
		{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}, Headers: []*routev3.HeaderMatcher{text(exactly)}},
		{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}, Headers: []*routev3.HeaderMatcher{text(matching)}},
		{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}, Grpc: &routev3.RouteMatch_GrpcRouteMatchOptions{}},
		{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}, QueryParameters: []*routev3.QueryParameterMatcher{{
			Name: "q", QueryParameterMatchSpecifier: &routev3.QueryParameterMatcher_StringMatch{StringMatch: exactly},
		}}},
	} {
		missed := 0
		for i, r := range Witnesses(request.Request{}, "*.ex", m) {
			misses, _ := newSimulation(New(), r).findMismatches(m)
			if i == 0 && len(misses) > 0 {
				t.Errorf("%v does not take %+v: %v", m, r, misses)
			}
			missed += min(len(misses), 1)
		}
		if isRegex := m.GetSafeRegex() != nil; missed == 0 && !isRegex {
			t.Errorf("%v: no witness is a near miss", m)
		}
	}
}
