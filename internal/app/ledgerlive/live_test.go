package ledgerlive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"

	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/source/ledgerfeed"
	"cardea.dev/cardea/internal/test/testcert"
)

// rig is a real ledger that is fed to a world. The proxies are played: they say what a test has them say.
type rig struct {
	t       *testing.T
	world   *world.World
	store   *store.Store
	tracker *Tracker
	proxies played
	fed     chan int64 // the changes that went into the graph
}

// played is what the server of the proxies would tell.
type played struct{ unanswered map[model.ObjectRef]int }

func (p *played) SeenRevision() flow.Rev                   { return 1 << 62 }
func (p *played) CountUnanswered() map[model.ObjectRef]int { return p.unanswered }

func newRig(t *testing.T) *rig {
	r := &rig{t: t, fed: make(chan int64, 100)}
	r.world = world.New(world.Config{Dialects: dataplanes.All(), Check: true,
		Environment: model.Environment{Addresses: []string{"192.0.2.1"}}})
	var err error
	r.store, err = store.Open(t.Context(), store.Config{URL: filepath.Join(t.TempDir(), "ledger.db")})
	r.must(err)
	log := slog.New(slog.DiscardHandler)
	f := ledgerfeed.New(ledgerfeed.Config{Ledger: r.store, Target: ledger.DefaultTarget, Sources: r.world.Sources.Sources,
		Graph: r.world.Graph, Schema: schema.New(r.world.Sources.Catalog), Log: log, OnApplied: func(list []ledger.Object) {
			r.tracker.AddPending(list)
			for _, o := range list {
				r.fed <- o.Change
			}
		}})
	r.tracker = New(Config{World: r.world, Ledger: r.store, Target: ledger.DefaultTarget, Cluster: "here",
		Proxies: &r.proxies, WhyNotTaken: f.WhyNotTaken, Log: log})
	r.world.Graph.Apply("start", func(b *flow.Batch) { r.world.Sources.Fetched.MarkSynced(b) })
	var running sync.WaitGroup
	running.Go(func() { _ = f.Run(t.Context()) })
	t.Cleanup(func() { r.must(r.store.Close()) })
	t.Cleanup(running.Wait)
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// commit commits objects, and waits until they are in the graph. An object that begins with "-" is deleted.
func (r *rig) commit(objects ...string) {
	r.t.Helper()
	d := ledger.Draft{Author: "alice", Deletions: len(objects)}
	for _, text := range objects {
		text, deleted := strings.CutPrefix(text, "-")
		var object map[string]any
		r.must(yaml.Unmarshal([]byte(text), &object))
		key, content, err := ledger.ContentOf(ledger.DefaultTarget, object)
		r.must(err)
		e := ledger.Edit{Key: key, Content: content}
		if deleted {
			e.Content, e.Delete = nil, true
		}
		d.Edits = append(d.Edits, e)
	}
	c, err := r.store.Commit(r.t.Context(), d)
	r.must(err)
	for number := range r.fed {
		if number == c.Number {
			break
		}
	}
	r.world.Graph.Settle()
}

// connect has a proxy of a Gateway connect.
func (r *rig) connect(gateway model.ObjectRef) {
	r.world.Graph.Apply("proxies", func(b *flow.Batch) {
		r.world.Feedback.Proxies.Set(b, gateway, resource.ProxySummary{Connected: 1, Acknowledged: 1})
	})
	r.world.Graph.Settle()
}

// acknowledge has the proxies acknowledge all that there is, but what a test leaves out.
func (r *rig) acknowledge(but ...resource.Origin) {
	r.eachFragment(func(b *flow.Batch, key resource.Key, f resource.Fragment) {
		if key.Type == xdstypes.Routes {
			r.world.Feedback.Acked.Set(b, resource.TableAckKey(key), 0)
		}
		if !slices.Contains(but, f.Origin) {
			r.world.Feedback.Acked.Set(b, resource.AckKey{Resource: key, Origin: f.Origin, Variant: f.Variant}, f.Hash)
		}
	})
}

// refuse has the proxies refuse what was made of an origin, in resources of a type.
func (r *rig) refuse(typ resource.Type, of resource.Origin, words string) {
	r.eachFragment(func(b *flow.Batch, key resource.Key, f resource.Fragment) {
		if key.Type == typ && f.Origin == of {
			r.world.Feedback.Refused.Set(b, resource.RefusalKey{Gateway: key.Gateway, Origin: f.Origin, Variant: f.Variant,
				Hash: f.Hash}, resource.Refusal{Type: typ, Name: key.Name, Message: words})
		}
	})
}

func (r *rig) eachFragment(do func(*flow.Batch, resource.Key, resource.Fragment)) {
	type held struct {
		key resource.Key
		f   resource.Fragment
	}
	var all []held
	r.world.Graph.View(func(v flow.View) {
		for _, c := range r.world.Outputs.Resources {
			for key, res := range flow.All(v, c) {
				for _, p := range res.Parts {
					for _, f := range p.Fragments {
						all = append(all, held{key, f})
					}
				}
			}
		}
	})
	r.world.Graph.Apply("proxies", func(b *flow.Batch) {
		for _, h := range all {
			do(b, h.key, h.f)
		}
	})
	r.world.Graph.Settle()
}

// is looks, as after a turn, and wants an object's newest generation to be so far in the ledger.
func (r *rig) is(kind, name string, want ledger.Stage, words ...string) {
	r.t.Helper()
	r.tracker.reportRound(r.t.Context())
	list, err := r.store.Status(r.t.Context(), ledger.StatusQuery{})
	r.must(err)
	list = slices.DeleteFunc(list, func(s ledger.Status) bool { return s.Kind != kind || s.Name != name })
	if len(list) != 1 {
		r.t.Fatalf("there is no %s %s", kind, name)
	}
	r.compare(list[0], want, words)
}

// changeIs wants it of the object of a kind that a change edited.
func (r *rig) changeIs(number int64, kind string, want ledger.Stage, words ...string) {
	r.t.Helper()
	r.tracker.reportRound(r.t.Context())
	list, err := r.store.Status(r.t.Context(), ledger.StatusQuery{Change: number})
	r.must(err)
	list = slices.DeleteFunc(list, func(s ledger.Status) bool { return s.Kind != kind })
	if len(list) != 1 {
		r.t.Fatalf("change %d has no %s", number, kind)
	}
	r.compare(list[0], want, words)
}

func (r *rig) compare(s ledger.Status, want ledger.Stage, words []string) {
	r.t.Helper()
	p := s.ProgressAt(s.Generation)
	got := strings.Join(slices.Concat(p.Words, p.Waits), "; ")
	if p.Stage != want || len(words) == 0 && got != "" && want != ledger.Committed {
		r.t.Fatalf("%s is %s (%s), want %s", s.Key, p.Stage, got, want)
	}
	for _, w := range words {
		if !strings.Contains(got, w) {
			r.t.Fatalf("%s is %s (%s), want the words %q", s.Key, p.Stage, got, w)
		}
	}
}

const (
	class = `{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: cardea},
		spec: {controllerName: cardea.dev/gateway-controller}}`
	service = `{apiVersion: v1, kind: Service, metadata: {name: app, namespace: shop}, spec: {ports: [{port: 80}]}}`
	slice   = `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: app, namespace: shop,
		labels: {kubernetes.io/service-name: app}}, addressType: IPv4, endpoints: [{addresses: [192.0.2.7]}],
		ports: [{port: 8080}]}`
)

func gateway(name string, port int) string {
	return fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: %s, namespace: shop},
		spec: {gatewayClassName: cardea, listeners: [{name: http, port: %d, protocol: HTTP}]}}`, name, port)
}

// route is one with a rule for each path.
func route(paths ...string) string {
	var rules []string
	for _, p := range paths {
		rules = append(rules, fmt.Sprintf(
			"{name: r%s, matches: [{path: {value: /%s}}], backendRefs: [{name: app, port: 80}]}", p, p))
	}
	return `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop},
		spec: {parentRefs: [{name: edge}], rules: [` + strings.Join(rules, ", ") + `]}}`
}

var (
	edge  = model.Ref(model.KindGateway, "shop", "edge")
	inner = model.Ref(model.KindGateway, "shop", "inner")
	web   = model.Ref(model.KindHTTPRoute, "shop", "web")
)

// served is a Gateway with a route, of which all is live.
func served(t *testing.T) *rig {
	r := newRig(t)
	r.commit(class, service, slice, gateway("edge", 80), route("a"))
	r.connect(edge)
	r.acknowledge()
	r.is("HTTPRoute", "web", ledger.IsLive)
	r.is("Gateway", "edge", ledger.IsLive)
	r.is("Service", "app", ledger.IsLive)
	return r
}

// TestLive: what became of an object is told as the proxies say it.
func TestLive(t *testing.T) {
	for name, test := range map[string]func(r *rig){
		"partly acknowledged": func(r *rig) {
			r.commit(route("a", "b"))
			r.acknowledge(resource.Origin{Object: web, Section: "rb"})
			r.is("HTTPRoute", "web", ledger.Committed)
			r.acknowledge()
			r.is("HTTPRoute", "web", ledger.IsLive)
		},
		"a rule is refused, and mended": func(r *rig) {
			r.commit(route("a", "b"))
			r.refuse(xdstypes.Routes, resource.Origin{Object: web, Section: "rb"}, "no such path")
			r.acknowledge()
			r.is("HTTPRoute", "web", ledger.IsRefused, "here: Gateway shop/edge: no such path")
			r.is("Service", "app", ledger.IsLive)
			r.commit(route("a", "c"))
			r.acknowledge()
			r.is("HTTPRoute", "web", ledger.IsLive)
		},
		"a listener is refused; what is no route needs the answer only": func(r *rig) {
			r.commit(gateway("edge", 81))
			r.acknowledge()
			r.refuse(xdstypes.Listener, resource.Origin{Object: edge, Section: "http"}, "the address is in use")
			r.is("Gateway", "edge", ledger.IsRefused, "here: Gateway shop/edge: the address is in use")
			r.proxies.unanswered = map[model.ObjectRef]int{edge: 1}
			other := strings.Replace(service, "name: app", "name: other", 1)
			r.commit(other)
			r.is("Service", "other", ledger.Committed)
			r.proxies.unanswered = nil
			r.is("Service", "other", ledger.IsLive)
		},
		"an error of Cardea's": func(r *rig) {
			r.commit(strings.Replace(route("a"), "name: app", "name: none", 1))
			r.acknowledge()
			r.is("HTTPRoute", "web", ledger.IsRefused, "here: ", "none does not exist")
			r.commit(strings.Replace(service, "name: app", "name: none", 1))
			r.acknowledge()
			r.is("HTTPRoute", "web", ledger.IsLive)
		},
		"a parent that takes no such routes": func(r *rig) {
			r.commit(strings.Replace(route("a"), "name: edge", "name: edge, sectionName: none", 1))
			r.is("HTTPRoute", "web", ledger.IsRefused, "here: not accepted: ", "none")
		},
		"a change that breaks what others state": func(r *rig) {
			r.commit("-" + service)
			r.acknowledge()
			r.changeIs(2, "Service", ledger.IsRefused, "here: HTTPRoute shop/web: ", "Service shop/app does not exist")
			r.commit(service)
			r.acknowledge()
			r.changeIs(3, "Service", ledger.IsLive)

			// A change that edits what it breaks is refused there.
			r.commit("-"+service, route("a", "b"))
			r.acknowledge()
			r.changeIs(4, "HTTPRoute", ledger.IsRefused, "Service shop/app does not exist")
			r.changeIs(4, "Service", ledger.IsLive)
		},
		"a Secret without which a listener is closed": func(r *rig) {
			pair := testcert.SelfSigned("shop.example")
			secret := func(key []byte) string {
				return fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: tls, namespace: shop}, "+
					"type: kubernetes.io/tls, stringData: {tls.crt: %q, tls.key: %q}}", pair.Certificate, key)
			}
			secure := strings.NewReplacer("listeners: [", "listeners: [{name: https, port: 443, protocol: HTTPS, "+
				"tls: {certificateRefs: [{name: tls}]}}, ").Replace(gateway("edge", 80))
			r.commit(secret(pair.PrivateKey), secure)
			r.acknowledge()
			r.is("Secret", "tls", ledger.IsLive)
			r.commit(secret([]byte("none")))
			r.acknowledge()
			r.is("Secret", "tls", ledger.IsRefused, "here: Gateway shop/edge: spec.listeners[0]")
			r.commit(secret(pair.PrivateKey))
			r.acknowledge()
			r.is("Secret", "tls", ledger.IsLive)
		},
		"an object that is deleted": func(r *rig) {
			r.proxies.unanswered = map[model.ObjectRef]int{edge: 1}
			r.commit("-"+route("a"), gateway("edge", 80))
			r.tracker.reportRound(r.t.Context())
			if n := r.pending(); n != 1 {
				r.t.Fatalf("%d objects are pending", n)
			}
			r.proxies.unanswered = nil
			r.changeIs(2, "HTTPRoute", ledger.IsLive)
		},
		"a Namespace that was there by itself, and one that still is": func(r *rig) {
			const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"
			r.commit(namespace)
			r.is("Namespace", "shop", ledger.IsLive)
			r.commit("-" + namespace)
			r.tracker.reportRound(r.t.Context())
			if n := r.pending(); n != 0 {
				r.t.Fatalf("%d objects are pending", n)
			}
		},
		"superseded while it is pending": func(r *rig) {
			r.commit(route("a", "b"))
			r.is("HTTPRoute", "web", ledger.Committed)
			r.commit(route("a", "c"))
			r.acknowledge()
			r.is("HTTPRoute", "web", ledger.IsLive)
			list, err := r.store.History(r.t.Context(), ledger.Key{Target: ledger.DefaultTarget,
				Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: "shop", Name: "web"}, ledger.Page{})
			r.must(err)
			if list[0].LiveSince.IsZero() || !list[1].LiveSince.IsZero() || list[2].LiveSince.IsZero() {
				r.t.Fatalf("the history is %+v", list)
			}
		},
		"a Gateway without proxies": func(r *rig) {
			const waits = "here: Gateway shop/inner has no connected proxy"
			both := strings.Replace(route("a"), "[{name: edge}]", "[{name: edge}, {name: inner}]", 1)
			r.commit(gateway("inner", 81), both, strings.Replace(slice, "192.0.2.7", "192.0.2.8", 1), gateway("edge", 82))
			r.acknowledge()
			r.is("HTTPRoute", "web", ledger.Committed, waits)
			r.is("Gateway", "inner", ledger.Committed, waits)
			r.is("EndpointSlice", "app", ledger.Committed, waits)
			r.is("Gateway", "edge", ledger.IsLive)
			r.proxies.unanswered = map[model.ObjectRef]int{inner: 1}
			r.connect(inner)
			r.is("Gateway", "inner", ledger.Committed, "here: proxies have not answered")
			r.proxies.unanswered = nil
			r.acknowledge()
			for _, o := range [][2]string{{"HTTPRoute", "web"}, {"Gateway", "inner"}, {"EndpointSlice", "app"}} {
				r.is(o[0], o[1], ledger.IsLive)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(served(t))
		})
	}
}

func (r *rig) pending() int {
	r.tracker.mu.Lock()
	defer r.tracker.mu.Unlock()
	return len(r.tracker.pending)
}

// TestNameIsOneCardeas: a Cardea whose name another one has ends with an error, and gets it when that one left.
func TestNameIsOneCardeas(t *testing.T) {
	r := newRig(t)
	other := ledger.Reading{Target: ledger.DefaultTarget, Name: "here", Instance: "other"}
	reads := func(want string) {
		t.Helper()
		if holder, err := r.store.RecordReader(t.Context(), other); err != nil || holder.Instance != want {
			t.Fatalf("the name is of %+v, %v", holder, err)
		}
	}
	reads("other")
	r.commit(class)
	ended := make(chan error)
	go func() { ended <- r.tracker.Run(t.Context()) }()
	var err error
	for err == nil {
		select {
		case err = <-ended:
		default:
			reads("other") // it is alive
		}
	}
	if e, is := errors.AsType[*ledger.Error](err); !is || e.Code != ledger.Conflict || e.Field != "--ledger-name" {
		t.Fatalf("the error is %v", err)
	}
	r.must(r.store.RemoveReader(t.Context(), other))
	ctx, stop := context.WithCancel(t.Context())
	again := New(r.tracker.Config)
	go func() { ended <- again.Run(ctx) }()
	for read := false; !read; {
		list, err := r.store.Status(t.Context(), ledger.StatusQuery{})
		r.must(err)
		read = len(list[0].Readers) == 1
	}
	if holder, err := r.store.RecordReader(t.Context(), other); err != nil || holder.Instance == "other" {
		t.Fatalf("the name is of %+v, %v", holder, err)
	}
	stop()
	r.must(<-ended)
	reads("other")
}
