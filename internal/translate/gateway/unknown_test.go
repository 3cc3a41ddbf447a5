package gateway

import (
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// TestUnknownFields: a match with a field that this version does not know is taken out of its rule, with what is known
// of it; without anything known it takes no request. Other fields are warned of.
func TestUnknownFields(t *testing.T) {
	prefix := func(path string) model.Match {
		return model.Match{Path: model.PathMatch{Type: model.PathPrefix, Value: path}}
	}
	posted := prefix("/")
	posted.Method = "POST"
	list := []model.Match{prefix("/a"), prefix("/b"), prefix("/"), posted, {GRPC: &model.GRPCMatch{}}}
	u := unknownFields{"rules[10].matches[0].x", "rules[1].matches[10].x", "rules[1].matches[1].path.x",
		"rules[1].matches[2].y", "rules[1].matches[3].z", "rules[1].matches[4].z", "rules[1].flavour", "else"}
	read, unread, problems := u.split(1, list)
	none := func(m model.Match) bool { return m.Path.Type == model.PathNone }
	if len(read) != 5 || read[0].Path.Value != "/a" || !none(read[1]) || !none(read[2]) || !none(read[3]) ||
		!none(read[4]) {
		t.Errorf("read: %+v", read)
	}
	if len(unread) != 5 || !none(unread[0]) || unread[1].Path != list[1].Path || !none(unread[2]) ||
		unread[3].Method != "POST" || unread[3].Path != posted.Path || !none(unread[4]) || unread[4].GRPC != nil {
		t.Errorf("unread: %+v", unread)
	}
	for i, want := range []string{"path.x", "it takes no request", "z", "it takes no request"} {
		if !problems[i].drops || !strings.Contains(problems[i].message, want) {
			t.Errorf("problem %+v, want %s", problems[i], want)
		}
	}
	ref := model.Ref(model.KindHTTPRoute, "shop", "web")
	if f := u.finding(ref); len(f) != 1 || f[0].Severity != model.Warning ||
		!strings.HasSuffix(f[0].Message, ": rules[1].flavour, else") {
		t.Errorf("findings %+v", f)
	}
	for _, u := range []unknownFields{nil, {"rules[0].matches[0].x"}, {"rules[1].flavour"}} {
		if read, unread, problems := u.split(1, list); len(read) != len(list) || len(unread)+len(problems) > 0 {
			t.Errorf("%v: %+v, %+v", u, unread, problems)
		}
	}
	if read, _, _ := (unknownFields{"else", model.MoreUnknown}).split(1, list); read != nil {
		t.Errorf("of a list that was cut off these are read: %+v", read)
	}
}

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
		if len(r.Rules) != 3 || !isUnread(r.Rules[2]) || r.Rules[2].Index != 0 || r.Rules[2].Error != 500 {
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
		domain := model.DomainKey{Listener: model.ListenerKey{Parent: theGateway, Section: "http"}, Name: model.Every}
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
	const https, http = gatewayv1.HTTPSProtocolType, gatewayv1.HTTPProtocolType
	for _, c := range []struct {
		field    string
		protocol gatewayv1.ProtocolType
		closes   bool
	}{
		{"tls.frontend.default.validation.newer", https, true},
		{"tls.frontend.default.validation.newer", http, false},
		{"listeners[1].tls.newer", https, true},
		{"listeners[0].tls.newer", https, false},
		{"listeners[1].newer", https, false},
		{"tls.backend.newer", https, false},
		{model.MoreUnknown, https, true},
	} {
		if got := len(unknownOfTLS([]string{c.field}, 1, c.protocol)) > 0; got != c.closes {
			t.Errorf("%s of %s: %v, want %v", c.field, c.protocol, got, c.closes)
		}
	}
}
