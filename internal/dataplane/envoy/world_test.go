package envoy

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

var testGateway = model.Ref(model.KindGateway, "shop", "web")

// world is a plan made of hand-written values, and what this package makes of it.
type world struct {
	g        *flow.Graph
	feedback *resource.Feedback
	out      resource.Outputs

	gateways  *flow.Source[model.ObjectRef, model.Gateway]
	ports     *flow.Source[model.PortKey, model.Port]
	listeners *flow.Source[model.ListenerKey, model.Listener]
	routes    *flow.Source[model.ObjectRef, model.Route]
	entries   *flow.Source[model.RouteEntryKey, model.RouteEntry]
	reduced   *flow.Source[model.DomainKey, model.DegradedRules]
	backends  *flow.Source[plan.BackendKey, model.Backend]
	secrets   *flow.Source[model.ObjectRef, model.Secret]
	running   *flow.Source[model.ObjectRef, int32]

	stated *statedSources // nil: nobody states settings

	places map[model.ObjectRef][]model.RouteListener // of each route
}

// statedSources are the settings of each level.
type statedSources struct {
	gateways  *flow.Source[model.ObjectRef, []plan.Setting]
	listeners *flow.Source[model.ListenerKey, []plan.Setting]
	routes    *flow.Source[model.ObjectRef, plan.RouteSettings]
	shared    *flow.Source[plan.SharedKey, plan.SharedEntry]
}

func newWorld(testing.TB) *world {
	return newWorldIn(flow.New(flow.Config{Name: "test", Check: true}), nil)
}

// newStatedWorld is one in which settings are stated.
func newStatedWorld(testing.TB) *world {
	g := flow.New(flow.Config{Name: "test", Check: true})
	s := &statedSources{
		gateways:  flow.NewSource[model.ObjectRef, []plan.Setting](g, "gateway-settings"),
		listeners: flow.NewSource[model.ListenerKey, []plan.Setting](g, "listener-settings"),
		routes:    flow.NewSource[model.ObjectRef, plan.RouteSettings](g, "route-settings"),
		shared:    flow.NewSource[plan.SharedKey, plan.SharedEntry](g, "shared-settings"),
	}
	g.Apply("start", func(b *flow.Batch) {
		s.gateways.MarkSynced(b)
		s.listeners.MarkSynced(b)
		s.routes.MarkSynced(b)
		s.shared.MarkSynced(b)
	})
	return newWorldIn(g, s)
}

func newWorldIn(g *flow.Graph, stated *statedSources) *world {
	var settings plan.Settings
	if stated != nil {
		settings = plan.Settings{
			Gateways: stated.gateways.Collection(), Listeners: stated.listeners.Collection(),
			Routes: stated.routes.Collection(), Shared: stated.shared.Collection(),
		}
	}
	w := &world{
		stated:    stated,
		g:         g,
		feedback:  resource.NewFeedback(g),
		gateways:  flow.NewSource[model.ObjectRef, model.Gateway](g, "gateways"),
		ports:     flow.NewSource[model.PortKey, model.Port](g, "ports"),
		listeners: flow.NewSource[model.ListenerKey, model.Listener](g, "listeners"),
		routes:    flow.NewSource[model.ObjectRef, model.Route](g, "routes"),
		entries:   flow.NewSource[model.RouteEntryKey, model.RouteEntry](g, "entries"),
		reduced:   flow.NewSource[model.DomainKey, model.DegradedRules](g, "reduced"),
		backends:  flow.NewSource[plan.BackendKey, model.Backend](g, "backends"),
		secrets:   flow.NewSource[model.ObjectRef, model.Secret](g, "secrets"),
		running:   flow.NewSource[model.ObjectRef, int32](g, "running"),
		places:    map[model.ObjectRef][]model.RouteListener{},
	}
	w.out = New(g, plan.Plan{
		Gateways: w.gateways.Collection(), Ports: w.ports.Collection(), Listeners: w.listeners.Collection(),
		Routes: w.routes.Collection(), RouteEntries: w.entries.Collection(), DegradedRules: w.reduced.Collection(),
		Domains: plan.GroupByDomain(w.entries.Collection()), Settings: settings,
		Backends: w.backends.Collection(), ProxyCounts: w.running.Collection(),
		Materials: flow.Rename(w.secrets.Collection(), "materials", model.CertificateKey,
			func(_ *flow.Ctx, _ model.ObjectRef, s model.Secret) (own plan.Material, found bool) {
				own.Text, own.PrivateKey = s.Certificate, s.PrivateKey
				return own, true
			}),
	}, w.feedback)
	g.Apply("start", func(b *flow.Batch) {
		w.gateways.MarkSynced(b)
		w.ports.MarkSynced(b)
		w.listeners.MarkSynced(b)
		w.routes.MarkSynced(b)
		w.entries.MarkSynced(b)
		w.reduced.MarkSynced(b)
		w.backends.MarkSynced(b)
		w.secrets.MarkSynced(b)
		w.running.MarkSynced(b)
	})
	return w
}

// apply makes one turn of edits.
func (w *world) apply(edit func(b *flow.Batch)) {
	w.g.Apply("test", edit)
	w.g.Settle()
}

// addPort adds a port and its listeners, which take their port and protocol from it.
func (w *world) addPort(b *flow.Batch, number, bind int32, protocol model.Protocol, listeners ...model.Listener) {
	w.addPortAt(b, []string{"127.0.0.1"}, number, bind, protocol, listeners...)
}

// addPortAt adds a port that is bound at addresses.
func (w *world) addPortAt(
	b *flow.Batch, addresses []string, number, bind int32, protocol model.Protocol, listeners ...model.Listener,
) {
	declared, _ := protocol.Declared()
	key := model.PortKey{Gateway: testGateway, Number: number, Transport: declared.Transport}
	port := model.Port{Key: key, BindPort: bind, Addresses: addresses, Protocol: protocol, DataPlane: naming.DataPlane}
	for _, l := range listeners {
		l.Gateway, l.DataPlane, l.Port, l.Protocol = testGateway, cmp.Or(l.DataPlane, naming.DataPlane), key, protocol
		if protocol == model.HTTPS {
			l.TLS = model.TLSTerminate
		}
		w.listeners.Set(b, l.Key, l)
		port.Listeners = append(port.Listeners, model.PortListener{Key: l.Key, Hostname: l.Hostname, Serves: true})
	}
	w.ports.Set(b, key, port)
	w.gateways.Set(b, testGateway, model.Gateway{Ref: testGateway, Accepted: true, DataPlane: naming.DataPlane})
}

func testListener(section, hostname string) model.Listener {
	return model.Listener{Key: model.ListenerKey{Parent: testGateway, Section: section}, Hostname: hostname}
}

func service(name string) model.BackendKey {
	return model.BackendKey{Object: model.Ref(model.KindService, "shop", name), Port: 8080}
}

// testRuleKey is the rule of a route that has no other.
func testRuleKey(name string) model.RuleKey {
	return model.RuleKey{Route: model.Ref(model.KindHTTPRoute, "shop", name), Name: "rule"}
}

// serve adds a route of one rule, or a place of it, and an entry for each of its matches, ordered as the calls are.
func (w *world) serve(b *flow.Batch, order int, port int32, section, domain string, r model.Rule) {
	listener := model.ListenerKey{Parent: testGateway, Section: section}
	w.places[r.Key.Route] = append(w.places[r.Key.Route], model.RouteListener{
		Listener: listener, Gateway: testGateway, Domains: []model.Domain{{Name: domain, Original: domain}},
	})
	w.setRule(b, r)
	for i := range r.Matches {
		w.entries.Set(b, model.RouteEntryKey{Rule: r.Key, Match: i, Domain: domain, Listener: listener},
			model.RouteEntry{Order: fmt.Sprintf("%05d/%06d/%03d", port, order, i)})
	}
}

// setRule changes the rule of a route where it is.
func (w *world) setRule(b *flow.Batch, r model.Rule) {
	w.routes.Set(b, r.Key.Route, model.Route{
		Gateways:  []model.RouteGateway{{Ref: testGateway, DataPlane: naming.DataPlane}},
		Listeners: slices.Clone(w.places[r.Key.Route]), Rules: []model.Rule{r},
	})
}

func (w *world) setBackend(b *flow.Batch, backend model.Backend) {
	backend.DataPlane = cmp.Or(backend.DataPlane, naming.DataPlane)
	w.backends.Set(b, plan.BackendKey{Gateway: testGateway, Backend: backend.Key}, backend)
}

// addBackend adds a Service's port with endpoints.
func (w *world) addBackend(b *flow.Batch, k model.BackendKey, addresses ...model.Endpoint) {
	w.setBackend(b, model.Backend{Key: k, Endpoints: addresses})
}

// resources is everything that the test Gateway's proxies get.
func (w *world) resources() map[resource.Key]resource.Resource {
	all := make(map[resource.Key]resource.Resource)
	w.g.View(func(v flow.View) {
		for k, p := range flow.All(v, w.g.Panics()) {
			panic(fmt.Sprintf("%v: %s %s", k, p.Message, p.Stack))
		}
		for _, c := range w.out.Resources {
			for k, r := range flow.All(v, c) {
				all[k] = r
			}
		}
	})
	return all
}

func (w *world) resource(t testing.TB, typ resource.Type, name string) resource.Resource {
	t.Helper()
	all := w.resources()
	r, ok := all[resource.Key{Gateway: testGateway, Type: typ, Name: name}]
	if !ok {
		t.Fatalf("no %s %q; there are %d resources", xdstypes.Name(typ), name, len(all))
	}
	return r
}
