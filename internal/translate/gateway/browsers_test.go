package gateway

import (
	"fmt"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// TestEditsThatDoNotConcernBrowsers: among many routes of one host that match methods and state CORS, or keep sessions
// by one cookie, an edit of anything else looks at no other route.
func TestEditsThatDoNotConcernBrowsers(t *testing.T) {
	const many = 20
	g := newGate(t, model.Budgets{})
	put := func(from, to int, header, origin, cookie string) map[string]int {
		g.apply(func(b *flow.Batch) {
			for i := from; i < to; i++ {
				rule, method := unnamed(fmt.Sprint("/", i)), gatewayv1.HTTPMethodPut
				rule.Matches[0].Method = &method
				rule.Filters = []gatewayv1.HTTPRouteFilter{
					{Type: gatewayv1.HTTPRouteFilterCORS, CORS: &gatewayv1.HTTPCORSFilter{
						AllowOrigins: []gatewayv1.CORSOrigin{gatewayv1.CORSOrigin(origin)},
					}},
					{Type: gatewayv1.HTTPRouteFilterRequestHeaderModifier, RequestHeaderModifier: &gatewayv1.HTTPHeaderFilter{
						Set: []gatewayv1.HTTPHeader{{Name: "x", Value: header}},
					}},
				}
				name := gatewayv1.CookieName(cookie)
				rule.SessionPersistence = &gatewayv1.SessionPersistence{Cookie: &gatewayv1.CookieConfig{Name: &name}}
				spec := &gatewayv1.HTTPRouteSpec{Rules: []gatewayv1.HTTPRouteRule{rule}}
				spec.ParentRefs = []gatewayv1.ParentReference{{Name: "web"}}
				g.in.HTTPRoutes.Set(b, routeRef(fmt.Sprint("a/r", i)), input.Object[gatewayv1.HTTPRouteSpec]{Spec: spec})
			}
		})
		runs := map[string]int{}
		turns := g.graph.Turns()
		for _, c := range turns[len(turns)-1].Collections {
			runs[c.Name] = c.Runs
		}
		return runs
	}
	put(0, many, "a", "https://a.example", "s")
	runs := put(7, 8, "b", "https://a.example", "s")
	for name, want := range map[string]int{
		"route/browsers": 1, "preflights": 0, "routes by cookie": 0, "shared cookies": 0,
	} {
		if runs[name] != want {
			t.Errorf("a header: %s ran %d times, want %d", name, runs[name], want)
		}
	}
	if runs = put(7, 8, "b", "https://b.example", "s"); runs["preflights"] == 0 {
		t.Errorf("an origin: %v", runs)
	}
	if runs = put(7, 8, "b", "https://b.example", "t"); runs["routes by cookie"] != 1 {
		t.Errorf("a cookie: %v", runs)
	}
}
