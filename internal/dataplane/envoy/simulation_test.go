package envoy

import (
	"slices"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// simulated is the simulation of all that the test Gateway's proxies get.
func (w *world) simulated(t *testing.T) request.Simulation {
	t.Helper()
	all := resource.NewExcerpt(typeSpecs[:])
	for key, r := range w.resources() {
		all.Offered[resource.Name{Type: key.Type, Name: key.Name}] = r.Parts
	}
	return simulationOf(t, all)
}

func simulationOf(t *testing.T, e *resource.Excerpt) request.Simulation {
	t.Helper()
	s, err := Dialect().Simulate(e, request.Gates{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSimulationTellsKeys: a result names what the configuration was made of by its keys: rules with names that other
// names begin with, or that look like those of other rules, backends of one Service, and mirrors.
func TestSimulationTellsKeys(t *testing.T) {
	w := newWorld(t)
	web, grpc := service("web"), service("web")
	grpc.HTTP2 = true
	other := service("web")
	other.Port = 9090
	ruleOf := func(route, name string, filters model.Filters, to ...model.BackendKey) model.Rule {
		r := model.Rule{
			Key:     model.RuleKey{Route: model.Ref(model.KindHTTPRoute, "shop", route), Name: name},
			Matches: []model.Match{{Path: model.PathMatch{Value: "/" + route}}}, Filters: filters,
		}
		for _, b := range to {
			r.Backends = append(r.Backends, model.WeightedBackend{Backend: b, Weight: 1})
		}
		return r
	}
	mirror := model.Filters{Mirrors: []model.Mirror{{Backend: other, Numerator: 1, Denominator: 1}}}
	rules := []model.Rule{
		ruleOf("a", "b/c", model.Filters{}, web), ruleOf("b", "c", mirror, grpc),
		ruleOf("c", "httproute/shop/a/b/c", model.Filters{}, other),
	}
	missing := ruleOf("d", "d", model.Filters{})
	missing.Backends = []model.WeightedBackend{{Weight: 1, Invalid: true}, {Backend: web, Weight: 1}}
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, 10080, model.HTTP, testListener("http", ""))
		for i, r := range append(rules, missing) {
			w.serve(b, i, 80, "http", "*", r)
		}
		for _, k := range []model.BackendKey{web, grpc, other} {
			w.addBackend(b, k, model.Endpoint{Address: "192.0.2.1", Port: 1})
		}
	})
	s := w.simulated(t)
	ask := func(r model.Rule) request.Result {
		return s.SimulateRequest(request.Request{Port: 10080, Method: "GET", Host: "any", Path: r.Matches[0].Path.Value})
	}
	for _, r := range rules {
		got := ask(r)
		if len(got.Outcomes) != 1 {
			t.Fatalf("%v: %+v", r.Key, got)
		}
		o := got.Outcomes[0]
		if o.Rule != r.Key || o.Backend != r.Backends[0].Backend || o.Unresolved || o.Match.IndexIn(r) != 0 {
			t.Errorf("%v (match %d) of %v, want %v of %v", o.Backend, o.Match.IndexIn(r), o.Rule, r.Backends[0].Backend, r.Key)
		}
		if n := len(o.Mirrors); n != len(r.Mirrors) || n > 0 && o.Mirrors[0].Backend != other {
			t.Errorf("%v: copies go to %v", r.Key, o.Mirrors)
		}
		if got.Listener != (model.ListenerKey{}) || got.Domain != "*" || got.Table.Name != "80/0" {
			t.Errorf("%v: listener %v, domain %s of %v", r.Key, got.Listener, got.Domain, got.Table)
		}
	}
	if o := ask(missing).Outcomes; len(o) != 2 || o[0].Unresolved == o[1].Unresolved {
		t.Errorf("a share that does not resolve, and one that does: %+v", o)
	}
	tried := s.CompareRoutes(request.Request{Port: 10080, Method: "GET", Host: "any", Path: "/b"})
	routes := s.ListRoutes(resource.Name{Type: xdstypes.Routes, Name: "80/0"}, "*")
	for i, r := range append(rules, missing) {
		if tried[i].Rule != r.Key || routes[i].Rule != r.Key || (len(tried[i].Mismatches) == 0) != (r.Key == rules[1].Key) {
			t.Errorf("route %d is of %v and %v, want %v; it misses %v", i, tried[i].Rule, routes[i].Rule, r.Key,
				tried[i].Mismatches)
		}
	}
}

// TestSimulationTellsListeners: of TLS the listener whose filter chain takes a connection is told, and what it shows;
// all HTTP listeners of a port share a chain, whatever they are called.
func TestSimulationTellsListeners(t *testing.T) {
	w := newWorld(t)
	ref := model.Ref(model.KindSecret, "shop", "tls")
	secret := model.Secret{Ref: ref, Certificate: []byte("c"), PrivateKey: []byte("k")}
	secure, plain, elsewhere := testListener("http", "a.ex"), testListener("http", ""), testListener("x", "b.ex")
	secure.Certificates = []model.ObjectRef{secret.Ref}
	secure.Key.Parent = model.Ref(model.KindGateway, "shop", "other")
	elsewhere.Certificates = secure.Certificates
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, 10080, model.HTTP, plain)
		w.addPort(b, 443, 10443, model.HTTPS, secure, elsewhere)
		w.secrets.Set(b, secret.Ref, secret)
	})
	s := w.simulated(t)
	for _, c := range []struct {
		sni          string
		listener     model.ListenerKey
		certificates []model.ObjectRef
	}{
		{"a.ex", secure.Key, []model.ObjectRef{secret.Ref}}, {"b.ex", elsewhere.Key, []model.ObjectRef{secret.Ref}},
		{"c.ex", model.ListenerKey{}, nil}, {"", model.ListenerKey{}, nil},
	} {
		r := request.Request{Port: 10080, Method: "GET", Host: "a.ex", Path: "/"}
		if c.sni != "" {
			r.Port, r.TLS, r.SNI, r.Host = 10443, true, c.sni, c.sni
		}
		got := s.SimulateRequest(r)
		if got.Listener != c.listener || !slices.Equal(got.Certificates, c.certificates) {
			t.Errorf("%q: listener %v shows %v, want %v and %v", c.sni, got.Listener, got.Certificates, c.listener,
				c.certificates)
		}
	}
}

// TestSimulationTellsWhatIsWithheld: a backend whose cluster proxies are not offered is named all the same.
func TestSimulationTellsWhatIsWithheld(t *testing.T) {
	w := newWorld(t)
	k := service("web")
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, 10080, model.HTTP, testListener("http", ""))
		w.serve(b, 0, 80, "http", "*", model.Rule{
			Key: testRuleKey("a"), Matches: []model.Match{{}}, Backends: []model.WeightedBackend{{Backend: k, Weight: 1}},
		})
		w.addBackend(b, k)
	})
	e, all := resource.NewExcerpt(typeSpecs[:]), w.resources()
	listener := resource.Name{Type: xdstypes.Listener, Name: "127.0.0.1:80"}
	e.AddResource(listener, resource.DomainPartIDs("any"), func(n resource.Name) (resource.Resource, bool) {
		r, found := all[resource.Key{Gateway: testGateway, Type: n.Type, Name: n.Name}]
		return r, found && n.Type != xdstypes.Cluster
	})
	got := simulationOf(t, e).SimulateRequest(request.Request{Port: 10080, Method: "GET", Host: "any", Path: "/"})
	if len(got.Outcomes) != 1 || got.Outcomes[0].Status != 503 || got.Outcomes[0].Backend != k {
		t.Errorf("%+v, want 503 of %v", got.Outcomes, k)
	}
}

// TestSimulationTellsConnections: a connection's listener, domain, rule and backends are told by their keys, of TLS,
// TCP and UDP; the share of backends that can't be used is nobody's.
func TestSimulationTellsConnections(t *testing.T) {
	for _, of := range []struct {
		protocol   model.Protocol
		mode       model.TLSMode
		domain     string
		connection request.Connection
		carries    model.Carried
	}{
		{model.TLS, model.TLSPassthrough, "a.ex", request.Connection{TLS: true, SNI: "a.ex"}, model.Passthrough},
		{model.TLS, model.TLSPassthrough, "*.ex", request.Connection{TLS: true, SNI: "b.c.ex"}, model.Passthrough},
		{model.TCP, "", "*", request.Connection{}, model.Bytes},
		{model.UDP, "", "*", request.Connection{Datagrams: true}, model.Datagrams},
	} {
		w := newWorld(t)
		backend, listener, rule := service("db"), testListener("shared", ""), testRuleKey("r")
		listener.TLS = of.mode
		w.apply(func(b *flow.Batch) {
			w.addPort(b, 9000, 19000, of.protocol, listener)
			w.serve(b, 0, 9000, "shared", of.domain, model.Rule{
				Key: rule, Matches: []model.Match{{}}, Backends: []model.WeightedBackend{
					{Backend: backend, Weight: 1}, {Backend: service("none"), Weight: 1, Invalid: true},
					{Backend: service("zero")}, {Backend: backend, Weight: 2},
				},
			})
			backend.Carries = of.carries
			w.addBackend(b, backend, model.Endpoint{Address: "192.0.2.1", Port: 1})
		})
		of.connection.Port = 19000
		got := w.simulated(t).SimulateConnection(of.connection)
		if got.Listener != listener.Key || got.Domain != of.domain || len(got.Outcomes) != 2 || len(got.NotSimulated) > 0 {
			t.Errorf("%s: %+v", of.protocol, got)
			continue
		}
		for _, o := range got.Outcomes {
			lost := o.Closed != ""
			if o.Rule != rule || o.Unresolved != lost || lost && o.Share != 0.25 ||
				!lost && (o.Share != 0.75 || o.Backend != backend || !slices.Equal(o.Endpoints, []string{"192.0.2.1:1"})) {
				t.Errorf("%s: %+v", of.protocol, o)
			}
		}
		if asked := w.simulated(t).SimulateRequest(request.Request{
			Port: 19000, TLS: of.connection.TLS, SNI: of.connection.SNI, Method: "GET", Path: "/",
		}); asked.Mismatch == of.connection.Datagrams || len(asked.Outcomes) > 0 {
			t.Errorf("%s: a request: %+v", of.protocol, asked)
		}
	}
}
