package envoy

import (
	"slices"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

func (w *world) ruleStanding(t testing.TB, k model.RuleKey) resource.AckState {
	t.Helper()
	var standing resource.RouteAckState
	w.g.View(func(v flow.View) {
		standing, _ = flow.Get(v, w.out.Routes, resource.RouteKey{Gateway: testGateway, Route: k.Route})
	})
	rules := standing.RuleStates(func(model.ListenerKey) bool { return true })
	if len(rules) != 1 {
		t.Errorf("%v has the standing %+v", k, standing)
		return resource.AckState{}
	}
	return rules[0]
}

func (w *world) listenerStanding(t testing.TB, section string) resource.AckState {
	t.Helper()
	return standingIn(t, w, w.out.Listeners,
		naming.ListenerOrigin(model.ListenerKey{Parent: testGateway, Section: section}))
}

func standingIn(
	t testing.TB, w *world, c *flow.Collection[resource.AckStateKey, resource.AckState], o resource.Origin,
) (s resource.AckState) {
	t.Helper()
	w.g.View(func(v flow.View) {
		var ok bool
		if s, ok = flow.Get(v, c, resource.AckStateKey{Gateway: testGateway, Origin: o}); !ok {
			t.Errorf("%v has no standing", o)
		}
	})
	return s
}

// ack acknowledges every fragment of a resource, as the server does.
func (w *world) ack(t testing.TB, typ resource.Type, name string) {
	t.Helper()
	r := w.resource(t, typ, name)
	w.apply(func(b *flow.Batch) {
		if typ == xdstypes.Routes {
			w.feedback.Acked.Set(b, resource.TableAckKey(resource.Key{Gateway: testGateway, Type: typ, Name: name}), 0)
		}
		for _, p := range r.Parts {
			for _, f := range p.Fragments {
				w.feedback.Acked.Set(b, resource.AckKey{
					Resource: resource.Key{Gateway: testGateway, Type: typ, Name: name}, Origin: f.Origin, Variant: f.Variant,
				}, f.Hash)
			}
		}
	})
}

func TestRuleIsAcknowledgedAtEveryPlace(t *testing.T) {
	w := manyHosts(t, 3)
	w.apply(func(b *flow.Batch) { // a redirect whose content differs by listener
		r := model.Rule{Key: testRuleKey("redirect"), Matches: []model.Match{{}}, Redirect: &model.Redirect{StatusCode: 302}}
		w.serve(b, 1, 80, "http", "r.test", r)
		w.serve(b, 1, 443, "https", "r.test", r)
	})
	rules := []model.RuleKey{testRuleKey("h1.test"), testRuleKey("redirect")}
	want := func(acknowledged bool) {
		t.Helper()
		for _, k := range rules {
			if s := w.ruleStanding(t, k); s != (resource.AckState{Acknowledged: acknowledged}) {
				t.Errorf("%s: %+v, want acknowledged %v", k.Route, s, acknowledged)
			}
		}
	}
	want(false)
	w.ack(t, xdstypes.Routes, "80/0")
	want(false)
	w.ack(t, xdstypes.Routes, "443/https/0")
	want(true)

	// An edit takes it back, for that rule only; so does acknowledging old content.
	w.apply(func(b *flow.Batch) {
		w.setRule(b, forward("h1.test", prefix("/a"), prefix("/c")))
	})
	if w.ruleStanding(t, testRuleKey("h1.test")).Acknowledged {
		t.Error("an edited rule still counts as acknowledged")
	}
	if !w.ruleStanding(t, testRuleKey("h2.test")).Acknowledged {
		t.Error("a neighbour of an edited rule does not count as acknowledged any more")
	}
	w.ack(t, xdstypes.Routes, "80/0")
	w.ack(t, xdstypes.Routes, "443/https/0")
	want(true)
}

// TestRuleWithoutAPlace: a rule whose only entry is on a listener that is not there serves nowhere, whatever was
// acknowledged.
func TestRuleWithoutAPlace(t *testing.T) {
	w := manyHosts(t, 1)
	w.apply(func(b *flow.Batch) { w.serve(b, 1, 80, "gone", "x.test", forward("lost", model.Match{})) })
	w.g.View(func(v flow.View) {
		lost := resource.RouteKey{Gateway: testGateway, Route: testRuleKey("lost").Route}
		if s, _ := flow.Get(v, w.out.Routes, lost); len(s.Listeners) > 0 {
			t.Errorf("standing: %+v", s)
		}
	})
	w.ruleStanding(t, testRuleKey("h0.test")) // its neighbour has one
}

// TestAcknowledgementRunsOneStanding: the cost of one route's ACK does not grow with the others.
func TestAcknowledgementRunsOneStanding(t *testing.T) {
	w := manyHosts(t, 40)
	w.ack(t, xdstypes.Routes, "80/0")
	w.apply(func(b *flow.Batch) {
		w.feedback.Acked.Set(b, resource.AckKey{
			Resource: resource.Key{Gateway: testGateway, Type: xdstypes.Routes, Name: "80/0"},
			Origin:   naming.RuleOrigin(testRuleKey("h1.test")),
		}, 1)
	})
	turns := w.g.Turns()
	if last := turns[len(turns)-1]; last.Runs > 3 { // the source's, the standing's
		t.Errorf("one acknowledgement ran %d transforms: %+v", last.Runs, last.Collections)
	}
}

// TestRefusedRuleAnswers500: its neighbours serve on, its requests don't fall through, and it recovers when it is
// edited.
func TestRefusedRuleAnswers500(t *testing.T) {
	w, bind := newWorld(t), freePort(t)
	// Of an expression of the path it is known what it begins with, if it was what was refused; of that of a header, that
	// there has to be one.
	header := model.Match{Path: prefix("/header").Path, Headers: []model.ValueMatch{{Name: "x", Value: "a+", Regex: true}}}
	path := model.Match{Path: model.PathMatch{Type: model.PathRegex, Value: "/path.*"}}
	open := model.Match{Path: model.PathMatch{Type: model.PathRegex, Value: "/(open|any).*"}}
	bad, good := forward("bad", prefix("/bad"), prefix("/other"), header, path, open), forward("good", prefix("/"))
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		w.serve(b, 1, 80, "http", "*", bad)
		w.serve(b, 2, 80, "http", "*", good)
	})
	content := w.fragmentOf(t, "80/0", bad.Key)
	if content.Refused {
		t.Fatal("it is refused before anyone refused it")
	}
	w.apply(func(b *flow.Batch) {
		w.feedback.Refused.Set(b, refusalKeyOf(testGateway, content), resource.Refusal{Message: "no such thing"})
	})
	if s := w.ruleStanding(t, bad.Key); s.Acknowledged || s.Refused != "no such thing" {
		t.Errorf("standing: %+v", s)
	}
	after := w.fragmentOf(t, "80/0", bad.Key)
	if !after.Refused || after.Hash != content.Hash {
		t.Errorf("in place of %+v stands %+v", content, after)
	}
	startProxy(t, w.resources())
	for uri, status := range map[string]int{"/bad": 500, "/bad/x": 500, "/other": 500, "/": 200, "/badly": 200,
		"/header": 200, "/path": 500, "/open": 200} {
		if a := (call{Host: "x.test", URI: uri}).do(t, bind); a.Status != status {
			t.Errorf("%s: %d, want %d", uri, a.Status, status)
		}
	}
	if a := (call{Host: "x.test", URI: "/header", Header: map[string]string{"x": "b"}}).do(t, bind); a.Status != 500 {
		t.Errorf("/header with the header: %d, want 500", a.Status)
	}
	bad.Backends = to("web", "web")
	w.apply(func(b *flow.Batch) { w.setRule(b, bad) })
	if f := w.fragmentOf(t, "80/0", bad.Key); f.Refused || f.Hash == content.Hash {
		t.Errorf("after an edit it is %+v", f)
	}
}

// TestRefusedChainIsRefusedConnections: its neighbours serve on, its hosts do not fall to a wider listener, and it
// recovers when it is edited.
func TestRefusedChainIsRefusedConnections(t *testing.T) {
	w, bind := newWorld(t), freePort(t)
	cert := testSecret(t, "cert", "x.test")
	listeners := []model.Listener{testListener("bad", "bad.test"), testListener("good", "good.test"),
		testListener("wide", "")}
	for i := range listeners {
		listeners[i].Certificates = []model.ObjectRef{cert.Ref}
	}
	w.apply(func(b *flow.Batch) {
		w.secrets.Set(b, cert.Ref, cert)
		w.addPort(b, 443, bind, model.HTTPS, listeners...)
		w.addBackend(b, service("web"), startBackend(t, "web"))
		for i, l := range listeners {
			w.serve(b, i, 443, l.Key.Section, model.HostnameDomain(l.Hostname), forward(l.Key.Section, prefix("/")))
		}
	})
	chain := func(section string) *resource.Part {
		for _, p := range w.resource(t, xdstypes.Listener, "127.0.0.1:443").Parts {
			if p.ID == chainPrefix+section {
				return p
			}
		}
		t.Fatal("no chain " + section)
		return nil
	}
	content := chain("bad").Fragments[0]
	w.apply(func(b *flow.Batch) {
		w.feedback.Refused.Set(b, refusalKeyOf(testGateway, content), resource.Refusal{Message: "no such thing"})
	})
	if got := w.listenerStanding(t, "bad"); got.Acknowledged || got.Refused != "no such thing" {
		t.Errorf("standing: %+v", got)
	}
	after := chain("bad")
	if f := after.Fragments[0]; !f.Refused || f.Hash != content.Hash || f.Origin != content.Origin {
		t.Errorf("in place of %+v stands %+v", content, f)
	}
	if want := []resource.Name{{Type: xdstypes.Secret, Name: naming.Secret(cert.Ref)}}; !slices.Equal(after.Needs, want) {
		t.Errorf("it needs %v, want %v", after.Needs, want)
	}
	startProxy(t, w.resources())
	for host, status := range map[string]int{"bad.test": 0, "good.test": 200, "other.test": 200} {
		if got := secureStatus(t, bind, host); got != status {
			t.Errorf("%s: %d, want %d", host, got, status)
		}
	}
	listeners[0].Hostname = "better.test"
	w.apply(func(b *flow.Batch) { w.addPort(b, 443, bind, model.HTTPS, listeners...) })
	if f := chain("bad").Fragments[0]; f.Refused || f.Hash == content.Hash {
		t.Errorf("after an edit it is %+v", f)
	}
}

func (w *world) fragmentOf(t testing.TB, table string, k model.RuleKey) resource.Fragment {
	t.Helper()
	for _, p := range w.resource(t, xdstypes.Routes, table).Parts {
		for _, f := range p.Fragments {
			if f.Origin == naming.RuleOrigin(k) {
				return f
			}
		}
	}
	t.Fatalf("%v is not in %s", k, table)
	return resource.Fragment{}
}

// TestListenerStanding: what all listeners of a port share counts for each of them, a filter chain and a table for
// their own.
func TestListenerStanding(t *testing.T) {
	w := newWorld(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, 80, model.HTTP, testListener("a", "a.test"), testListener("b", "b.test"))
		w.addPort(b, 443, 443, model.HTTPS, testListener("c", "c.test"), testListener("d", "d.test"))
	})
	sections := []string{"a", "b", "c", "d"}
	check := func(why string, want map[string]resource.AckState) {
		t.Helper()
		for _, s := range sections {
			if got := w.listenerStanding(t, s); got != want[s] {
				t.Errorf("%s: listener %s: %+v, want %+v", why, s, got, want[s])
			}
		}
	}
	yes := resource.AckState{Acknowledged: true}
	check("at first", nil)
	w.ack(t, xdstypes.Listener, "127.0.0.1:80")
	check("80 acknowledged, its table on the way", nil)
	w.ack(t, xdstypes.Routes, "80/0")
	check("80 acknowledged", map[string]resource.AckState{"a": yes, "b": yes})
	w.ack(t, xdstypes.Routes, "443/c/0")
	w.ack(t, xdstypes.Listener, "127.0.0.1:443")
	check("443 acknowledged, one table on the way", map[string]resource.AckState{"a": yes, "b": yes, "c": yes})
	w.ack(t, xdstypes.Routes, "443/d/0")
	all := map[string]resource.AckState{"a": yes, "b": yes, "c": yes, "d": yes}
	check("both acknowledged", all)

	head := w.resource(t, xdstypes.Listener, "127.0.0.1:443").Parts[0].Fragments[0]
	w.apply(func(b *flow.Batch) {
		w.feedback.Refused.Set(b, refusalKeyOf(testGateway, head), resource.Refusal{Kind: resource.PortTaken,
			Message: "cannot bind"})
	})
	no := resource.AckState{Refused: "cannot bind", Kind: resource.PortTaken}
	check("443 can't be bound", map[string]resource.AckState{"a": yes, "b": yes, "c": no, "d": no})

	chain := w.resource(t, xdstypes.Listener, "127.0.0.1:443").Parts[1].Fragments[0]
	w.apply(func(b *flow.Batch) {
		w.feedback.Refused.Delete(b, refusalKeyOf(testGateway, head))
		w.feedback.Refused.Set(b, refusalKeyOf(testGateway, chain), resource.Refusal{Message: "bad chain"})
	})
	check("c's chain is refused", map[string]resource.AckState{"a": yes, "b": yes, "c": {Refused: "bad chain"}, "d": yes})
}

// TestSecretCountsForItsListener: a certificate that the proxy does not have, or refused, is its listener's business;
// one that is being rotated is not.
func TestSecretCountsForItsListener(t *testing.T) {
	w := newWorld(t)
	ref := model.Ref(model.KindSecret, "shop", "cert")
	set := func(certificate string) {
		w.apply(func(b *flow.Batch) {
			w.secrets.Set(b, ref, model.Secret{Ref: ref, Certificate: []byte(certificate), PrivateKey: []byte("key")})
		})
	}
	l := testListener("https", "a.test")
	l.Certificates = []model.ObjectRef{ref}
	w.apply(func(b *flow.Batch) { w.addPort(b, 443, 443, model.HTTPS, l) })
	set("first")
	check := func(why string, want resource.AckState) {
		t.Helper()
		if got := w.listenerStanding(t, "https"); got != want {
			t.Errorf("%s: %+v, want %+v", why, got, want)
		}
	}
	w.ack(t, xdstypes.Listener, "127.0.0.1:443")
	w.ack(t, xdstypes.Routes, "443/https/0")
	check("its certificate was not acknowledged", resource.AckState{})
	w.ack(t, xdstypes.Secret, naming.Secret(ref))
	check("all acknowledged", resource.AckState{Acknowledged: true})
	set("second")
	check("the next certificate is on its way", resource.AckState{Acknowledged: true})
	content := w.resource(t, xdstypes.Secret, naming.Secret(ref)).Parts[0].Fragments[0]
	w.apply(func(b *flow.Batch) {
		w.feedback.Refused.Set(b, refusalKeyOf(testGateway, content), resource.Refusal{Message: "bad key"})
	})
	check("the next certificate was refused", resource.AckState{Refused: "bad key"})
}
