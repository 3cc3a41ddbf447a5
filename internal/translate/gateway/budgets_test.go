package gateway

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/shadow"
)

// gate is a Gateway "a/web" with a listener, and routes of namespaces that each are an hour younger than the last.
type gate struct {
	*Translator
	t     testing.TB
	graph *flow.Graph
	in    *kinds.Sources
	age   time.Time
	to    gatewayv1.ObjectName // a backend of each rule
}

func newGate(t testing.TB, budgets model.Budgets) *gate {
	t.Helper()
	graph := flow.New(flow.Config{Name: "test", Check: true})
	g := &gate{t: t, graph: graph, in: kinds.NewSources(graph), age: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	g.Translator = New(graph, g.in, Options{Budgets: budgets})
	browsers := shadow.NewBrowserNeeds(g.Plan)
	shadow.NewSharedCookies(browsers)
	shadow.NewLostPreflights(g.Plan, browsers)
	all := gatewayv1.NamespacesFromAll
	g.apply(func(b *flow.Batch) {
		g.in.MarkSynced(b)
		g.in.Environment.MarkSynced(b)
		g.in.Environment.Set(b, model.ObjectRef{}, model.Environment{Addresses: []string{"127.0.0.1"}})
		class := &gatewayv1.GatewayClassSpec{ControllerName: model.ControllerName}
		g.in.GatewayClasses.Set(b, model.Ref(model.KindGatewayClass, "", "cardea"),
			input.Object[gatewayv1.GatewayClassSpec]{Spec: class})
		g.in.Gateways.Set(b, theGateway, input.Object[gatewayv1.GatewaySpec]{Spec: &gatewayv1.GatewaySpec{
			GatewayClassName: "cardea",
			Listeners: []gatewayv1.Listener{{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType,
				AllowedRoutes: &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: &all}}}},
		}})
	})
	return g
}

var theGateway = model.Ref(model.KindGateway, "a", "web")

func (g *gate) apply(edit func(b *flow.Batch)) {
	g.graph.Apply("test", edit)
	g.graph.Settle()
}

func routeRef(name string) model.ObjectRef {
	namespace, name, _ := strings.Cut(name, "/")
	return model.Ref(model.KindHTTPRoute, namespace, name)
}

// put writes a route of one rule with some prefixes, for some hosts; a new one is younger than all others.
func (g *gate) put(name string, matches int, hosts ...gatewayv1.Hostname) {
	namespace := gatewayv1.Namespace("a")
	rule := unnamed()
	for i := range matches {
		rule = unnamed(append(prefixesOf(rule), fmt.Sprintf("/%s/%d", name, i))...)
	}
	if g.to != "" {
		rule.BackendRefs = make([]gatewayv1.HTTPBackendRef, 1)
		rule.BackendRefs[0].Name = g.to
	}
	spec := &gatewayv1.HTTPRouteSpec{Hostnames: hosts, Rules: []gatewayv1.HTTPRouteRule{rule}}
	spec.ParentRefs = []gatewayv1.ParentReference{{Name: "web", Namespace: &namespace}}
	created := g.age
	g.graph.View(func(v flow.View) {
		if was, found := flow.Get(v, g.in.HTTPRoutes.Collection(), routeRef(name)); found {
			created = was.Meta.Created
		} else {
			g.age = g.age.Add(time.Hour)
		}
	})
	g.apply(func(b *flow.Batch) {
		g.in.HTTPRoutes.Set(b, routeRef(name), input.Object[gatewayv1.HTTPRouteSpec]{
			Meta: model.Meta{Created: created}, Spec: spec,
		})
	})
}

func prefixesOf(r gatewayv1.HTTPRouteRule) (list []string) {
	for _, m := range r.Matches {
		list = append(list, *m.Path.Value)
	}
	return list
}

func (g *gate) drop(name string) {
	g.apply(func(b *flow.Batch) { g.in.HTTPRoutes.Delete(b, routeRef(name)) })
}

// is wants that each route has its form (matches: 0 takes nothing; error), as in "t/a 3, t/b 1 500, t/c 0 500", and
// that what is not whole has findings.
func (g *gate) is(want string) {
	g.t.Helper()
	var list []string
	g.graph.View(func(v flow.View) {
		for ref, r := range flow.All(v, g.Plan.Routes) {
			said := fmt.Sprintf("%s %d", ref.NamespacedName(), len(r.Rules[0].Matches))
			if r.Rules[0].Error != 0 {
				said += fmt.Sprint(" ", r.Rules[0].Error)
			}
			if reported := slices.ContainsFunc(r.Findings, func(f model.Finding) bool { return f.Drops }); reported !=
				(r.Rules[0].Error != 0) {
				g.t.Errorf("%s: its findings are %+v", said, r.Findings)
			}
			list = append(list, said)
		}
	})
	slices.Sort(list)
	if got := strings.Join(list, ", "); got != want {
		g.t.Errorf("%s, want %s", got, want)
	}
}

// finding is what is said of budgets.
func (g *gate) finding(name string) string {
	var says []string
	g.graph.View(func(v flow.View) {
		r, _ := flow.Get(v, g.Plan.Routes, routeRef(name))
		for _, f := range r.Findings {
			if strings.Contains(f.Message, "budget") {
				says = append(says, f.Message)
			}
		}
	})
	return strings.Join(says, "\n")
}

// reduced are the forms of copies in a host.
func (g *gate) reduced(host string) (forms model.DegradedRules) {
	g.graph.View(func(v flow.View) {
		forms, _ = flow.Get(v, g.Plan.DegradedRules,
			model.DomainKey{Listener: model.ListenerKey{Parent: theGateway, Section: "http"}, Name: host})
	})
	return forms
}

func routesOf(rule, namespace, gateway int) model.Budgets {
	return model.Budgets{Rule: model.Size{Routes: rule}, Namespace: model.Size{Routes: namespace},
		Gateway: model.Size{Routes: gateway}}
}

// TestNewestRuleLoses: the rules of a namespace are paid for from the oldest on; one for which there is no room has a
// smaller form, and is back when there is.
func TestNewestRuleLoses(t *testing.T) {
	g := newGate(t, routesOf(0, 10, 0))
	g.put("t/a", 4, "a.ex")
	g.put("t/b", 4, "b.ex")
	g.put("other/x", 9, "x.ex")
	g.is("other/x 9, t/a 4, t/b 4")
	g.put("t/c", 3, "c.ex")
	g.put("t/d", 1, "d.ex")
	g.is("other/x 9, t/a 4, t/b 4, t/c 1 500, t/d 1")
	const want = "at Gateway a/web it has 3 routes and older rules have 8, together 1 over the budget of 10 for " +
		"namespace t (--namespace-routes); requests below /t/c get 500, unless an earlier rule matches them; "
	if got := g.finding("t/c"); !strings.HasPrefix(got, want) {
		t.Errorf("it says %q, want %q", got, want)
	}
	g.put("t/e", 2, "e.ex")
	g.is("other/x 9, t/a 4, t/b 4, t/c 1 500, t/d 1, t/e 1 500") // a tenth more for answers
	g.put("t/a", 5, "a.ex")                                      // the oldest grows: it is the younger ones that lose
	g.is("other/x 9, t/a 5, t/b 4, t/c 1 500, t/d 1 500, t/e 0 500")
	g.drop("t/b")
	g.is("other/x 9, t/a 5, t/c 3, t/d 1, t/e 1 500")
	g.drop("t/a")
	g.is("other/x 9, t/c 3, t/d 1, t/e 2")
}

// TestCopiesArePaidByTheHosts: a wide rule is copied into narrower hosts, whose namespace pays, after its own rules.
// So who has many hosts loses nobody's rule, nor the wide rule elsewhere; and a wide rule takes no room from others'.
func TestCopiesArePaidByTheHosts(t *testing.T) {
	g := newGate(t, routesOf(0, 10, 0))
	wide, wider := routeRef("w/wide"), routeRef("w/wider")
	g.put("w/wide", 2)
	g.put("t/a", 2, "a.ex", "b.ex")
	g.put("s/x", 1, "x.ex")
	if n := len(g.reduced("a.ex")) + len(g.reduced("x.ex")); n != 0 {
		t.Errorf("%d copies are not whole, want none", n)
	}
	form := func(host string, of model.ObjectRef) model.Degradation {
		for rule, form := range g.reduced(host) {
			if rule.Route == of {
				return form
			}
		}
		return model.NotDegraded
	}
	g.put("w/wider", 2)
	if a, b, x := form("a.ex", wide), form("a.ex", wider), form("x.ex", wider); a != 0 || b != model.DegradedPrefix ||
		x != 0 {
		t.Errorf("wide %d, wider %d, elsewhere %d", a, b, x)
	}
	g.put("t/b", 4, "a.ex") // the namespace's own rule comes first
	if a, b := form("a.ex", wide), form("b.ex", wider); a != model.DegradedPrefix || b != model.DegradedNoRequests {
		t.Errorf("wide %d, wider %d", a, b)
	}
	g.is("s/x 1, t/a 2, t/b 4, w/wide 2, w/wider 2")
	want := "the copies of the rule for more specific hosts of namespace t are over a budget: it has 4 routes and older " +
		"rules have 8, together 2 over the budget of 10 for namespace t (--namespace-routes); for these hosts requests " +
		"below /w/wide get 500, unless an earlier rule matches them"
	if got := g.finding("w/wide"); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	g.drop("t/b")
	g.drop("w/wider")
	if n := len(g.reduced("a.ex")); n != 0 {
		t.Errorf("%d copies are not whole, want none", n)
	}
}

// TestAnEditThatKeepsItsSizeIsNotCountedAgain: what an edit costs does not depend on others' rules.
func TestAnEditThatKeepsItsSizeIsNotCountedAgain(t *testing.T) {
	g := newGate(t, model.DefaultBudgets)
	g.put("w/wide", 1)
	g.put("t/a", 2, "a.ex")
	runs := func(edit func()) (names []string) {
		before := g.graph.Stats()
		edit()
		for i, c := range g.graph.Stats() {
			if c.Runs > before[i].Runs {
				names = append(names, c.Name)
			}
		}
		return names
	}
	larger := runs(func() { g.put("t/a", 3, "a.ex") })
	if !slices.Contains(larger, "account") || slices.Contains(larger, "host") {
		t.Errorf("a rule that grew ran %q", larger)
	}
	g.to = "other"
	same := runs(func() { g.put("t/a", 3, "a.ex") })
	if !slices.Contains(same, "load") || slices.Contains(same, "loads by namespace") || slices.Contains(same, "account") {
		t.Errorf("a rule that kept its size ran %q", same)
	}
}

// unnamed is a rule that matches path prefixes.
func unnamed(prefixes ...string) gatewayv1.HTTPRouteRule {
	var r gatewayv1.HTTPRouteRule
	for _, p := range prefixes {
		r.Matches = append(r.Matches, gatewayv1.HTTPRouteMatch{Path: &gatewayv1.HTTPPathMatch{Value: &p}})
	}
	return r
}
