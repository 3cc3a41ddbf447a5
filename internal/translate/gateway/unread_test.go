package gateway

import (
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/route"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"strings"
	"testing"
)

// TestUnreadMatchesKeepTheirPlace: what is known of a match that can't be read comes before an equal match of a later
// rule, is checked as other matches are, and what is said of it names the rule that it is written in.
func TestUnreadMatchesKeepTheirPlace(t *testing.T) {
	g := newGate(t, model.DefaultBudgets)
	expression := gatewayv1.PathMatchRegularExpression
	first, second := unnamed("/admin", "/other", "/bad("), unnamed("/admin")
	first.Matches[2].Path.Type = &expression
	namespace := gatewayv1.Namespace("a")
	spec := &gatewayv1.HTTPRouteSpec{Rules: []gatewayv1.HTTPRouteRule{first, second}}
	spec.ParentRefs = []gatewayv1.ParentReference{{Name: "web", Namespace: &namespace}}
	ref := routeRef("t/a")
	g.apply(func(b *flow.Batch) {
		g.in.HTTPRoutes.Set(b, ref, input.Object[gatewayv1.HTTPRouteSpec]{
			Meta: model.Meta{Unknown: []string{"rules[0].matches[0].x", "rules[0].matches[2].x"}}, Spec: spec,
		})
	})
	g.graph.View(func(v flow.View) {
		r, _ := flow.Get(v, g.Plan.Routes, ref)
		if len(r.Rules) != 3 || !route.IsUnread(r.Rules[2]) || r.Rules[2].Index != 0 || r.Rules[2].Error != 500 {
			t.Fatalf("rules %+v", r.Rules)
		}
		if m := r.Rules[2].Matches[2]; m.Path.Type != model.PathNone && m.Path.Type != model.PathStart {
			t.Errorf("the invalid expression is served: %+v", m)
		}
		for _, f := range r.Findings {
			if !strings.HasPrefix(f.Field, "spec.rules[0].") && !strings.HasPrefix(f.Field, "spec.rules[1].back") {
				t.Errorf("finding %+v", f)
			}
		}
		var admin []string
		domain := model.DomainKey{Listener: model.ListenerKey{Parent: theGateway, Section: "http"}, Name: model.EveryHost}
		sites, _ := flow.Get(v, g.Plan.Domains, domain)
		for k, s := range sites.All() {
			if s.Match.Path.Value == "/admin" {
				admin = append(admin, k.Rule.Name)
			}
		}
		if len(admin) != 2 || admin[0] != r.Rules[2].Key.Name {
			t.Errorf("/admin is taken by %q, want %s first", admin, r.Rules[2].Key.Name)
		}
	})
}

// TestUnknownFieldsOfTLS: a listener does not serve that is asked for more of its connections than this version knows.
func TestUnknownFieldsOfTLS(t *testing.T) {
	const https, http = model.TLSTerminate, model.TLSMode("")
	for _, c := range []struct {
		field  string
		mode   model.TLSMode
		closes bool
	}{
		{"tls.frontend.default.validation.newer", https, true},
		{"tls.frontend.default.validation.newer", http, false},
		{"listeners[1].tls.newer", https, true},
		{"listeners[0].tls.newer", https, false},
		{"listeners[1].newer", https, false},
		{"tls.backend.newer", https, false},
		{model.MoreUnknown, https, true},
	} {
		if got := len(unknownOfTLS([]string{c.field}, 1, c.mode)) > 0; got != c.closes {
			t.Errorf("%s of %s: %v, want %v", c.field, c.mode, got, c.closes)
		}
	}
}
