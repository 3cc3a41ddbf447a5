package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
	"cardea.dev/cardea/internal/ops/explain"
)

const twoRoutes = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: cardea}
spec: {controllerName: cardea.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: cardea, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: app}
spec: {type: ExternalHostname, port: {number: 3000}, externalHostname: {hostname: localhost}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: good}
spec:
  parentRefs: [{name: web}]
  hostnames: [good.ex]
  rules: [{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: app}]}]
---
` + badRoute

const badRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: bad}
spec:
  parentRefs: [{name: web}]
  hostnames: [bad.ex]
  rules:
  - matches: [{path: {value: /0}}]
    backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: app}]
`

// faulty is a world in which one transform can be made to panic whenever it runs.
type faulty struct {
	*world.World
	t     *testing.T
	armed string // the collection that it makes; set between turns
}

func newFaulty(t *testing.T) *faulty {
	f := &faulty{t: t}
	f.World = world.New(world.Config{Dialects: dataplanes.All(), Extensions: Extensions(),
		Check: true, Environment: model.Environment{Addresses: []string{"127.0.0.1"}},
		Fault: func(collection, _ string) {
			if collection == f.armed {
				panic("injected")
			}
		},
	})
	f.Graph.Apply("start", f.Sources.MarkSynced)
	f.apply(twoRoutes)
	return f
}

func (f *faulty) apply(text string) {
	f.t.Helper()
	s := schemas()
	f.Graph.Apply("edit", func(b *flow.Batch) {
		for _, doc := range ReadDocs(text) {
			o, problems := s.Check(doc, schema.Options{})
			if len(problems) > 0 {
				f.t.Fatal(problems)
			}
			f.Sources.KindSource(o.Ref.Kind()).Set(b, o.Ref, model.Meta{Generation: 1}, o.Spec)
		}
	})
	f.Graph.Settle()
}

func (f *faulty) panics() (n uint64) {
	for _, s := range f.Graph.Stats() {
		n += s.Panics
	}
	return n
}

// backend is who answers a request.
func (f *faulty) backend(host, path string) (cluster string) {
	f.t.Helper()
	f.Graph.View(func(v flow.View) {
		configs, err := simulations(f.World, v)
		if err != nil {
			f.t.Fatal(err)
		}
		for _, c := range configs {
			for _, o := range c.SimulateRequest(request.Request{Port: 80, Method: "GET", Host: host, Path: path}).Outcomes {
				cluster += o.Cluster
			}
		}
	})
	return cluster
}

// versions are those of all resources.
func (f *faulty) versions() map[resource.Key]string {
	all := map[resource.Key]string{}
	f.Graph.View(func(v flow.View) {
		for _, typ := range xdstypes.All() {
			for key, r := range f.Outputs.All(v, typ) {
				all[key] = r.Version
			}
		}
	})
	return all
}

// TestPanicAnywhereLeavesTheRestServing: an edit of one route runs into a bug in each transform in turn. What it does
// not concern is served as before, the panic is counted, and explain tells it; with the next edit, which runs into no
// bug, all is as if nothing had been.
func TestPanicAnywhereLeavesTheRestServing(t *testing.T) {
	edited, again := strings.Replace(badRoute, "/0", "/1", 1), strings.Replace(badRoute, "/0", "/2", 1)
	whole := newFaulty(t)
	before := map[string]uint64{}
	for _, s := range whole.Graph.Stats() {
		before[s.Name] = s.Runs
	}
	whole.apply(edited)
	var concerned []string // the collections that such an edit makes anew
	for _, s := range whole.Graph.Stats() {
		if s.Runs > before[s.Name] {
			concerned = append(concerned, s.Name)
		}
	}
	if len(concerned) < 5 {
		t.Fatalf("only %q run", concerned)
	}
	whole.apply(again)
	for _, collection := range concerned {
		t.Run(strings.ReplaceAll(collection, "/", " "), func(t *testing.T) {
			f := newFaulty(t)
			f.armed = collection
			f.apply(edited)
			if f.panics() == 0 {
				t.Error("no panic is counted")
			}
			if got := f.backend("good.ex", "/"); got != "xbackend/default/app" {
				t.Errorf("good.ex is answered by %q", got)
			}
			e := explain.New(explain.Config{World: f.World})
			story, _ := e.ExplainObject(model.Ref(model.KindHTTPRoute, "default", "bad"))
			if !slices.ContainsFunc(story.Panics, func(text string) bool {
				return strings.HasPrefix(text, collection+" of ") && strings.HasSuffix(text, ": injected")
			}) {
				f.Graph.View(func(v flow.View) {
					t.Errorf("explain tells %q; there are %v", story.Panics, maps.Collect(flow.All(v, f.Graph.Panics())))
				})
			}
			f.armed = ""
			f.apply(again)
			if got, want := f.versions(), whole.versions(); !maps.Equal(got, want) {
				t.Errorf("after the bug it is\n%v\nwant\n%v", got, want)
			}
			if story, _ := e.ExplainObject(model.Ref(model.KindHTTPRoute, "default", "bad")); len(story.Panics) > 0 {
				t.Errorf("explain still tells %q", story.Panics)
			}
		})
	}
}
