package envoy

import (
	"fmt"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resource"
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
	rules     *flow.Source[model.RuleKey, model.Rule]
	sites     *flow.Source[model.SiteKey, model.Site]
	backends  *flow.Source[model.BackendKey, model.Backend]
	endpoints *flow.Source[model.BackendKey, model.Endpoints]
	users     *flow.Source[plan.BackendUser, struct{}]
	secrets   *flow.Source[model.ObjectRef, model.Secret]
}

func newWorld(testing.TB) *world { return newWorldIn(flow.New(flow.Config{Name: "test", Check: true})) }

func newWorldIn(g *flow.Graph) *world {
	w := &world{
		g:         g,
		feedback:  resource.NewFeedback(g),
		gateways:  flow.NewSource[model.ObjectRef, model.Gateway](g, "gateways"),
		ports:     flow.NewSource[model.PortKey, model.Port](g, "ports"),
		listeners: flow.NewSource[model.ListenerKey, model.Listener](g, "listeners"),
		rules:     flow.NewSource[model.RuleKey, model.Rule](g, "rules"),
		sites:     flow.NewSource[model.SiteKey, model.Site](g, "sites"),
		backends:  flow.NewSource[model.BackendKey, model.Backend](g, "backends"),
		endpoints: flow.NewSource[model.BackendKey, model.Endpoints](g, "endpoints"),
		users:     flow.NewSource[plan.BackendUser, struct{}](g, "users"),
		secrets:   flow.NewSource[model.ObjectRef, model.Secret](g, "secrets"),
	}
	w.out = New(g, w.plan(), w.feedback)
	g.Apply("start", func(b *flow.Batch) {
		w.gateways.Synced(b)
		w.ports.Synced(b)
		w.listeners.Synced(b)
		w.rules.Synced(b)
		w.sites.Synced(b)
		w.backends.Synced(b)
		w.endpoints.Synced(b)
		w.users.Synced(b)
		w.secrets.Synced(b)
	})
	return w
}

func (w *world) plan() plan.Plan {
	own := flow.Group(w.sites.Collection(), "own sites", func(k model.SiteKey, _ model.Site) []model.DomainKey {
		return []model.DomainKey{{Listener: k.Listener, Name: k.Domain}}
	}, func(_ model.SiteKey, s model.Site) string { return s.Order })
	return plan.Plan{
		Gateways:  w.gateways.Collection(),
		Ports:     w.ports.Collection(),
		Listeners: w.listeners.Collection(),
		Rules:     w.rules.Collection(),
		Sites:     w.sites.Collection(),
		Domains: flow.Map(own, "domains", func(c *flow.Ctx, k model.DomainKey, sites plan.Sites) (plan.Domain, bool) {
			_, site := sites.At(0)
			d := plan.Domain{Port: site.Port, Own: sites}
			for _, name := range wider(k.Name) {
				if sites, ok := flow.Fetch(c, own, model.DomainKey{Listener: k.Listener, Name: name}); ok {
					d.Wider = append(d.Wider, sites)
				}
			}
			return d, true
		}),
		Backends:     w.backends.Collection(),
		Endpoints:    w.endpoints.Collection(),
		BackendUsers: w.users.Collection(),
		Secrets:      w.secrets.Collection(),
	}
}

// wider lists the domains that cover a domain, from narrow to wide.
func wider(domain string) []string {
	var list []string
	for rest := strings.TrimPrefix(domain, "*."); domain != "*"; {
		_, parent, ok := strings.Cut(rest, ".")
		if !ok {
			return append(list, "*")
		}
		list, rest = append(list, "*."+parent), parent
	}
	return list
}

// apply makes one turn of edits.
func (w *world) apply(edit func(b *flow.Batch)) {
	w.g.Apply("test", edit)
	w.g.Settle()
}

// addPort adds a port and its listeners, which take their port and protocol from it.
func (w *world) addPort(b *flow.Batch, number, bind int32, protocol model.Protocol, listeners ...model.Listener) {
	key := model.PortKey{Gateway: testGateway, Number: number, Transport: model.TCP}
	port := model.Port{Key: key, BindPort: bind, Addresses: []string{"127.0.0.1"}, Protocol: protocol}
	for _, l := range listeners {
		l.Gateway, l.Port, l.Protocol = testGateway, key, protocol
		w.listeners.Set(b, l.Key, l)
		port.Listeners = append(port.Listeners, model.PortListener{Key: l.Key, Hostname: l.Hostname, Serves: true})
	}
	w.ports.Set(b, key, port)
}

func testListener(section, hostname string) model.Listener {
	return model.Listener{Key: model.ListenerKey{Parent: testGateway, Section: section}, Hostname: hostname}
}

func service(name string) model.BackendKey {
	return model.BackendKey{Object: model.Ref(model.KindService, "shop", name), Port: 8080}
}

func testRuleKey(name string) model.RuleKey {
	return model.RuleKey{Route: model.Ref(model.KindHTTPRoute, "shop", "route"), Name: name}
}

// serve adds a rule and a site for each of its matches, ordered as the calls are.
func (w *world) serve(b *flow.Batch, order int, port int32, section, domain string, r model.Rule) {
	w.rules.Set(b, r.Key, r)
	for i := range r.Matches {
		key := model.SiteKey{
			Rule: r.Key, Match: i, Domain: domain,
			Listener: model.ListenerKey{Parent: testGateway, Section: section},
		}
		w.sites.Set(b, key, model.Site{
			Port:  model.PortKey{Gateway: testGateway, Number: port, Transport: model.TCP},
			Order: fmt.Sprintf("%06d/%03d", order, i),
		})
	}
	for _, u := range r.Backends {
		if !u.Invalid {
			w.users.Set(b, plan.BackendUser{Route: r.Key.Route, Gateway: testGateway, Backend: u.Backend}, struct{}{})
		}
	}
}

// addBackend adds a Service's port with endpoints.
func (w *world) addBackend(b *flow.Batch, k model.BackendKey, addresses ...model.Endpoint) {
	w.backends.Set(b, k, model.Backend{Key: k})
	if len(addresses) > 0 {
		w.endpoints.Set(b, k, model.Endpoints{Key: k, Addresses: addresses})
	}
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
		t.Fatalf("no %s %q; there are %d resources", typ, name, len(all))
	}
	return r
}
