package envoy

import (
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// TestReducedCopies: a wide rule whose copies in a host are over a budget answers 500 there on what the form of the
// copy takes; rules that come first or after serve, and so does the rule itself elsewhere.
func TestReducedCopies(t *testing.T) {
	w, bind := newWorld(t), freePort(t)
	header := prefix("/w/header")
	header.Headers = []model.ValueMatch{{Name: "x", Value: "a+", Regex: true}}
	wide := model.Rule{Key: testRuleKey("wide"), Matches: []model.Match{header, prefix("/w/a")}, Backends: to("wide")}
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		for _, name := range []string{"own", "wide", "any"} {
			w.addBackend(b, service(name), startBackend(t, name))
		}
		for form, host := range []string{"whole.test", "matches.test", "prefix.test", "none.test"} {
			own := model.Rule{Key: testRuleKey(host), Matches: []model.Match{prefix("/own")}, Backends: to("own")}
			w.serve(b, form, 80, "http", host, own)
			if form > 0 {
				w.reduced.Set(b, model.DomainKey{Listener: model.ListenerKey{Parent: testGateway, Section: "http"}, Name: host},
					model.DegradedRules{wide.Key: model.Degradation(form)})
			}
		}
		w.serve(b, 1, 80, "http", "*", wide)
		w.serve(b, 2, 80, "http", "*", model.Rule{Key: testRuleKey("any"), Matches: []model.Match{prefix("/")},
			Backends: to("any")})
	})
	startProxy(t, w.resources())
	for host, want := range map[string]map[string]string{
		"other.test":   {"/w/a": "wide", "/w/header": "any", "/w/b": "any", "/": "any"},
		"whole.test":   {"/own": "own", "/w/a": "wide", "/w/header": "any", "/w/b": "any", "/": "any"},
		"matches.test": {"/own": "own", "/w/a": "", "/w/header": "any", "/w/b": "any", "/": "any"},
		"prefix.test":  {"/own": "own", "/w/a": "", "/w/header": "", "/w/b": "", "/": "any"},
		"none.test":    {"/own": "own", "/w/a": "any", "/w/header": "any", "/w/b": "any", "/": "any"},
	} {
		for uri, backend := range want {
			a := (call{Host: host, URI: uri}).do(t, bind)
			if a.Seen.Backend != backend || (a.Status == 500) != (backend == "") {
				t.Errorf("%s%s reached %q (%d), want %q", host, uri, a.Seen.Backend, a.Status, backend)
			}
		}
	}
	with := call{Host: "matches.test", URI: "/w/header", Header: map[string]string{"x": "b"}}
	if a := with.do(t, bind); a.Status != 500 {
		t.Errorf("a header of any value: %d, want 500", a.Status)
	}
}
