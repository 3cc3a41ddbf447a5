package envoy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	mutationrulesv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// chains are the slots that hold chains: all that their filters do can be seen in the answer.
func chains() []string {
	return slices.DeleteFunc(httpfilters.Names(), func(s string) bool {
		return slices.Contains(append(httpfilters.SharedSlots(), httpfilters.CORS, httpfilters.Loops, httpfilters.Messages,
			httpfilters.Tools, httpfilters.AI), s)
	})
}

// mark is a setting whose filter says in the answer who stated it.
func mark(slot, name, by string) plan.Setting {
	s := httpfilters.NewSetting(slot, name, &headermutationv3.HeaderMutation{Mutations: &headermutationv3.Mutations{
		ResponseMutations: []*mutationrulesv3.HeaderMutation{{Action: &mutationrulesv3.HeaderMutation_Append{
			Append: &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: "x-" + slot + "-" + name, Value: by}},
		}}},
	}})
	s.From = model.Ref(model.KindOf("test", "Policy"), "shop", by)
	return s
}

// marks are settings for all chains.
func marks(name, by string) (all []plan.Setting) {
	for _, slot := range chains() {
		all = append(all, mark(slot, name, by))
	}
	return all
}

// offs turn filters of that name off in all chains.
func offs(name, by string) (all []plan.Setting) {
	for _, s := range marks(name, by) {
		s.Off, s.Config = true, plan.TypedConfig{}
		all = append(all, s)
	}
	return all
}

// marked is what the answer to a host says of each chain: who stated the filter of that name.
func marked(a answer, name string) map[string]string {
	found := map[string]string{}
	for _, slot := range chains() {
		if by := a.Header.Values("x-" + slot + "-" + name); len(by) > 0 {
			found[slot] = strings.Join(by, "+")
		}
	}
	return found
}

func allBy(by string) map[string]string {
	all := map[string]string{}
	for _, slot := range chains() {
		all[slot] = by
	}
	return all
}

// levelsWorld has two listeners on a port, and hosts with rules that state settings at each level, or none.
func levelsWorld(t *testing.T, bind int32) *world {
	w := newStatedWorld(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("every", ""), testListener("own", "*.own.test"))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		serve := func(listener, host string, settings plan.RouteSettings) {
			name := strings.ReplaceAll(host, ".", "-")
			r := forward(name, prefix("/"))
			w.serve(b, 1, 80, listener, host, r)
			for i := range settings.Rules {
				settings.Rules[i].Rule = r.Key
			}
			w.stated.routes.Set(b, r.Key.Route, settings)
		}
		rule := func(own []plan.Setting, backends ...[]plan.Setting) []plan.RuleSettings {
			return []plan.RuleSettings{{Own: own, Backends: backends}}
		}
		w.stated.gateways.Set(b, testGateway, append(marks("a", "gateway"), marks("b", "gateway")...))
		w.stated.listeners.Set(b, testListener("own", "").Key, marks("a", "listener"))
		serve("every", "gateway.test", plan.RouteSettings{})
		serve("own", "listener.own.test", plan.RouteSettings{})
		serve("own", "route.own.test", plan.RouteSettings{Own: marks("a", "route")})
		serve("own", "rule.own.test", plan.RouteSettings{Own: marks("a", "route"), Rules: rule(marks("a", "rule"))})
		serve("own", "backend.own.test", plan.RouteSettings{
			Own: marks("a", "route"), Rules: rule(marks("a", "rule"), marks("a", "backendRef")),
		})
		serve("own", "off.own.test", plan.RouteSettings{Rules: rule(offs("a", "rule"))})
		serve("own", "other.own.test", plan.RouteSettings{Rules: rule(marks("c", "rule"))})
		one := marks("a", "rule")[:1]
		serve("own", "one.own.test", plan.RouteSettings{Rules: rule(one)})
	})
	return w
}

// TestLevels: of the settings of a filter in each slot counts the nearest; what a level does not state is inherited.
func TestLevels(t *testing.T) {
	bind := freePort(t)
	startProxy(t, levelsWorld(t, bind).resources())
	for host, by := range map[string]string{
		"gateway.test": "gateway", "listener.own.test": "listener", "route.own.test": "route", "rule.own.test": "rule",
		"backend.own.test": "backendRef", "other.own.test": "listener",
	} {
		a := call{Host: host, URI: "/"}.do(t, bind)
		if got := marked(a, "a"); a.Status != 200 || !maps.Equal(got, allBy(by)) {
			t.Errorf("%s: %d, filters a are stated by %v, want %s", host, a.Status, got, by)
		}
		if got := marked(a, "b"); !maps.Equal(got, allBy("gateway")) {
			t.Errorf("%s: filters b are stated by %v, want gateway", host, got)
		}
	}
	if got := marked(call{Host: "other.own.test", URI: "/"}.do(t, bind), "c"); !maps.Equal(got, allBy("rule")) {
		t.Errorf("filters c are stated by %v, want rule", got)
	}
	if got := marked(call{Host: "off.own.test", URI: "/"}.do(t, bind), "a"); len(got) > 0 {
		t.Errorf("filters a that the rule turned off are stated by %v", got)
	}
	want := allBy("listener")
	want[chains()[0]] = "rule"
	if got := marked(call{Host: "one.own.test", URI: "/"}.do(t, bind), "a"); !maps.Equal(got, want) {
		t.Errorf("of a rule that states one slot: %v, want %v", got, want)
	}
}

// TestSettingsAreTriedAlone: each setting of a table or of a virtual host is tried as a route's, and nothing else of
// the head is.
func TestSettingsAreTriedAlone(t *testing.T) {
	w := levelsWorld(t, 80)
	w.apply(func(b *flow.Batch) {
		cors := httpfilters.NewSetting(httpfilters.CORS, "", &corsv3.CorsPolicy{AllowMethods: "GET"})
		off := plan.Setting{Slot: httpfilters.LimitsEarly, Off: true}
		cors.From, off.From = testGateway, testGateway
		w.stated.listeners.Set(b, testListener("own", "").Key, []plan.Setting{mark(httpfilters.Guard, "a", "own"), cors, off})
	})
	heads := 0
	for _, p := range w.resource(t, xdstypes.Routes, "80/0").Parts {
		pieces := Protocol().Trials.SplitPieces(xdstypes.Routes, p)
		if len(pieces) != len(p.Fragments) {
			t.Errorf("part %q: %d origins of %d fragments", p.ID, len(pieces), len(p.Fragments))
		}
		for _, f := range p.Fragments {
			if !f.Setting {
				continue
			}
			heads++
			table := new(routev3.RouteConfiguration)
			trial := Protocol().Trials.BuildTrial(xdstypes.Routes, "trial/1", pieces[f.Origin])
			if err := proto.Unmarshal(trial.AppendBytes(nil), table); err != nil || table.ValidateAll() != nil {
				t.Fatalf("%v, %v", err, table.ValidateAll())
			}
			for _, r := range table.VirtualHosts[0].Routes {
				if len(r.TypedPerFilterConfig) != 1 {
					t.Errorf("%s is tried with %v", f.Origin.Section, r.TypedPerFilterConfig)
				}
			}
		}
	}
	if want := 2*len(chains()) + 3*7; heads != want {
		t.Errorf("%d settings, want %d", heads, want)
	}
}

// TestASettingTouchesHeadsOnly: an edit of what a Gateway states renders the head of each table, and no route; one of
// what a listener states, its virtual hosts.
func TestASettingTouchesHeadsOnly(t *testing.T) {
	w := newStatedWorld(t)
	w.fillHosts(t, 50)
	before := w.resource(t, xdstypes.Routes, "80/0")
	check := func(what string, edit func(b *flow.Batch)) {
		t.Helper()
		w.apply(edit)
		after := w.resource(t, xdstypes.Routes, "80/0")
		for i, p := range after.Parts {
			if same := p == before.Parts[i]; same == (p.ID == "") {
				t.Errorf("%s: part %q: same is %v", what, p.ID, same)
			}
		}
		before = after
		runs := map[string]int{}
		w.g.View(func(flow.View) {
			turns := w.g.Turns()
			for _, c := range turns[len(turns)-1].Collections {
				runs[c.Name] = c.Runs
			}
		})
		if runs["envoy/fragments"] != 0 {
			t.Errorf("%s: %d rules were rendered", what, runs["envoy/fragments"])
		}
		if runs["envoy/virtual-hosts"] != 0 {
			t.Errorf("%s: %d virtual hosts were looked at", what, runs["envoy/virtual-hosts"])
		}
	}
	check("of the Gateway", func(b *flow.Batch) {
		w.stated.gateways.Set(b, testGateway, []plan.Setting{mark(httpfilters.Guard, "a", "gateway")})
	})
	check("of a listener that is alone", func(b *flow.Batch) {
		w.stated.listeners.Set(b, testListener("http", "").Key, []plan.Setting{mark(httpfilters.Authz, "a", "listener")})
	})
	w.apply(func(b *flow.Batch) { // now it shares its table
		w.addPort(b, 80, 80, model.HTTP, testListener("http", ""), testListener("other", "other.test"))
	})
	shared := w.resource(t, xdstypes.Routes, "80/0")
	w.apply(func(b *flow.Batch) {
		w.stated.listeners.Set(b, testListener("other", "").Key, []plan.Setting{mark(httpfilters.Authz, "a", "other")})
	})
	for i, p := range w.resource(t, xdstypes.Routes, "80/0").Parts {
		if p != shared.Parts[i] {
			t.Errorf("part %q changed with what another listener states", p.ID)
		}
	}
}

// TestPreflightsWhereAListenerTurnsCORSOn: a rule with CORS off has the preflights that it inherits where a listener
// does not turn it off, also if no Gateway but that one has any for it.
func TestPreflightsWhereAListenerTurnsCORSOn(t *testing.T) {
	w := newStatedWorld(t)
	off := mark(httpfilters.CORS, "", "rule")
	off.Off, off.Config = true, plan.TypedConfig{}
	m := prefix("/")
	m.Method = "PUT"
	r := forward("r", m)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, 80, model.HTTP, testListener("on", "on.test"), testListener("off", "off.test"))
		w.stated.gateways.Set(b, testGateway, []plan.Setting{mark(httpfilters.CORS, "", "gateway")})
		w.serve(b, 1, 80, "on", "on.test", r)
		w.serve(b, 2, 80, "off", "off.test", r)
		w.stated.routes.Set(b, r.Key.Route, plan.RouteSettings{
			Rules: []plan.RuleSettings{{Rule: r.Key, Own: []plan.Setting{off}}},
			AtListeners: []plan.RuleSettingsAtListener{{
				Listener: testListener("on", "").Key, Rules: []plan.RuleSettings{{Rule: r.Key}},
			}},
		})
	})
	table := new(routev3.RouteConfiguration)
	if err := proto.Unmarshal(w.resource(t, xdstypes.Routes, "80/0").AppendBytes(nil), table); err != nil {
		t.Fatal(err)
	}
	for _, host := range table.VirtualHosts {
		preflights := slices.ContainsFunc(host.Routes, func(r *routev3.Route) bool {
			return slices.ContainsFunc(r.GetMatch().GetHeaders(), func(h *routev3.HeaderMatcher) bool {
				return h.GetName() == "access-control-request-method"
			})
		})
		if want := host.Domains[0] == "on.test"; preflights != want {
			t.Errorf("%v: preflights: %v, want %v", host.Domains, preflights, want)
		}
	}
}

// TestInheritedPreflightsAreRenderedOnce: where the Gateway states CORS, an edit of one rule of a host renders that
// rule only, and not those beside it again for their preflights.
func TestInheritedPreflightsAreRenderedOnce(t *testing.T) {
	w := newStatedWorld(t)
	w.fillHosts(t, 1)
	const host = "many.test"
	put := func(path string) model.Match {
		m := prefix(path)
		m.Method = "PUT"
		return m
	}
	w.apply(func(b *flow.Batch) {
		w.stated.gateways.Set(b, testGateway, []plan.Setting{mark(httpfilters.CORS, "", "gateway")})
		for i := range 10 {
			name := fmt.Sprint("r", i)
			w.serve(b, 1, 80, "http", host, forward(name, put("/"+name)))
		}
	})
	pieces := func() map[*byte]bool {
		list := map[*byte]bool{}
		for _, p := range w.resource(t, xdstypes.Routes, "80/0").Parts {
			if p.ID == host {
				for _, piece := range p.Bytes {
					list[&piece[0]] = true
				}
			}
		}
		return list
	}
	before := pieces()
	w.apply(func(b *flow.Batch) { w.setRule(b, forward("r3", put("/changed"))) })
	fresh := 0
	for piece := range pieces() {
		if !before[piece] {
			fresh++
		}
	}
	if len(before) < 20 || fresh > 4 { // a route and its preflight, and the head and end of the host
		t.Errorf("%d pieces of %d are new", fresh, len(before))
	}
}
