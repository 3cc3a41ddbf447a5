package world_test

import (
	"slices"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/app/builtin"
	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/ops/explain"
	"cardea.dev/cardea/internal/translate/backend"
	"cardea.dev/cardea/internal/translate/problem"
)

// farmSpec is an object of the test's kind of backends: pods with labels, at a port.
type farmSpec struct {
	Port   int32             `json:"port"`
	Labels map[string]string `json:"labels"`
}

func (s *farmSpec) DeepCopyInto(into *farmSpec) { *into = *s }

var kindFarm = model.KindOf("test.example", "Farm")

// farm is the whole declaration of the kind.
func farm() *kind.Kind {
	return &kind.Kind{
		Kind: kindFarm, Plural: "farms", Versions: []string{"v1"}, Content: kind.CustomContent[farmSpec](),
		OwnsEndpointSlices: func(any) bool { return true },
		Backend: &kind.Backend{
			RulesOnly: true, Targets: kind.ForBackend, SliceLabel: "test.example/farm",
			Finder: &kind.Finder{App: "test-farm", Prefix: "farm-"}, Tools: kind.ToolsAlways,
		},
	}
}

// farms is what its objects mean.
type farms struct {
	backend.Inputs
	all *input.Collection[farmSpec]
}

func newFarms(in backend.Inputs) backend.Kind {
	return farms{in, input.SourceOf[farmSpec](in.Sources.Sources, kindFarm).Collection()}
}

func (f farms) Refer(
	c *flow.Ctx, ref model.ObjectRef, _ *gatewayv1.PortNumber, _ model.Carried,
) (read backend.Referred) {
	if _, found := flow.Fetch(c, f.all, ref); !found {
		read.Unusable = problem.Unusable{Reason: "BackendNotFound", Message: ref.String() + " does not exist"}
	}
	return read
}

func (f farms) Backend(c *flow.Ctx, key model.BackendKey) (b model.Backend, served bool) {
	o, found := flow.Fetch(c, f.all, key.Object)
	if !found {
		return b, false
	}
	b.Endpoints = f.EndpointsAt(c, key.Object, o.Spec.Port)
	return b, true
}

func (f farms) Selections(served func(*flow.Ctx, model.ObjectRef) bool) flow.Input[model.ObjectRef, plan.PodSelector] {
	return flow.From(f.all, func(c *flow.Ctx, ref model.ObjectRef, o input.Object[farmSpec]) (plan.PodSelector, bool) {
		return plan.PodSelector{UID: o.Meta.UID, Labels: o.Spec.Labels, Port: o.Spec.Port}, served(c, ref)
	})
}

const farmObjects = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: cardea}
spec: {controllerName: cardea.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: shop}
spec: {gatewayClassName: cardea, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec:
  parentRefs: [{name: web}]
  rules:
  - backendRefs: [{group: test.example, kind: Farm, name: hens}]
  - matches: [{path: {value: /copied}}]
    filters: [{type: RequestMirror, requestMirror: {backendRef: {group: test.example, kind: Farm, name: hens}}}]
    backendRefs: [{group: test.example, kind: Farm, name: hens}]
---
apiVersion: cardea.dev/v1alpha1
kind: BackendPolicy
metadata: {name: few, namespace: shop}
spec:
  targetRefs: [{group: test.example, kind: Farm, name: hens}]
  limits: {connections: 3}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: hens-1, namespace: shop, labels: {test.example/farm: hens}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.7]}]
ports: [{port: 1}]
`

// TestBackendKind: a kind of backends is one declaration and what its objects mean. Routes, endpoints, the pods that
// are looked for, policies, names in data planes and explanations follow from these two.
func TestBackendKind(t *testing.T) {
	extensions, err := world.ExtensionsOf(builtin.Plugins(), farm())
	if err != nil {
		t.Fatal(err)
	}
	extensions = append(extensions, world.Extension{Kind: farm(), Backend: newFarms})
	w := world.New(world.Config{
		Dialects: dataplanes.All(), Extensions: extensions, Check: true,
		Environment: model.Environment{Addresses: []string{"127.0.0.1"}},
	})
	w.Graph.Apply("start", w.Sources.MarkSynced)
	applyTo(t, w, farmObjects)
	hens, route := model.Ref(kindFarm, "shop", "hens"), model.Ref(model.KindHTTPRoute, "shop", "web")
	w.Graph.Apply("farm", func(b *flow.Batch) {
		w.Sources.KindSource(kindFarm).Set(b, hens, model.Meta{UID: "7"}, &farmSpec{Port: 8000,
			Labels: map[string]string{"a": "b"}})
	})
	w.Graph.Settle()
	w.Graph.View(func(v flow.View) {
		r, _ := flow.Get(v, w.Plan.Routes, route)
		if len(r.Rules) != 2 || len(r.Rules[0].Backends) != 1 || r.Rules[0].Backends[0].Invalid {
			t.Fatalf("rules %+v", r.Rules)
		}
		if len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Message,
			"Farm shop/hens can be a backend only in a rule's backendRefs; use Service, XBackend") {
			t.Errorf("findings %+v, want that a filter can't name a Farm", r.Findings)
		}
		key := plan.BackendKey{Gateway: model.Ref(model.KindGateway, "shop", "web"), Backend: model.BackendKey{Object: hens}}
		b, _ := flow.Get(v, w.Plan.Backends, key)
		if want := []model.Endpoint{{Address: "10.0.0.7", Port: 8000}}; !slices.Equal(b.Endpoints, want) {
			t.Errorf("endpoints %+v, want %+v", b.Endpoints, want)
		}
		if name := w.Dialects[0].BackendResource(key).Name; !strings.HasPrefix(name, "farm.test.example/shop/hens") {
			t.Errorf("the data plane calls it %s", name)
		}
		if s, found := flow.Get(v, w.Plan.PodSelectors, hens); !found || s.Port != 8000 {
			t.Errorf("pods are looked for: %+v %t", s, found)
		}
		names := w.Sources.Catalog.ListReferences(route, mustGet(v, w, route).Spec)
		if !slices.ContainsFunc(names, func(r kind.Reference) bool { return r.To == hens }) {
			t.Errorf("the route names %+v", names)
		}
		policy := model.Ref(model.KindBackendPolicy, "shop", "few")
		report, _ := w.Reports.ForKind(model.KindBackendPolicy).Get(v, policy)
		status, _ := report.Status.(gatewayv1.PolicyStatus)
		if len(report.Findings) > 0 || len(status.Ancestors) != 1 || string(status.Ancestors[0].AncestorRef.Name) != "web" {
			t.Errorf("the policy's status is %+v, findings %+v", status, report.Findings)
		}
	})
	if !slices.Contains(explain.AccessKinds(w.Sources.Catalog), kindFarm) {
		t.Error("nobody explains who may call the tools of a Farm")
	}
}

// TestAdviceWithoutSlices: a backend of a kind that EndpointSlices don't name is told that it has no endpoint, and not
// to add a slice.
func TestAdviceWithoutSlices(t *testing.T) {
	t.Parallel()
	plain := farm()
	plain.Backend.SliceLabel, plain.OwnsEndpointSlices = "", nil
	w := world.New(world.Config{
		Dialects: dataplanes.All(), Extensions: []world.Extension{{Kind: plain, Backend: newFarms}}, Check: true,
		Environment: model.Environment{Addresses: []string{"127.0.0.1"}},
	})
	w.Graph.Apply("start", w.Sources.MarkSynced)
	objects, _, _ := strings.Cut(farmObjects, "---\napiVersion: cardea.dev")
	applyTo(t, w, objects)
	hens := model.Ref(kindFarm, "shop", "hens")
	w.Graph.Apply("farm", func(b *flow.Batch) {
		w.Sources.KindSource(kindFarm).Set(b, hens, model.Meta{UID: "7"}, &farmSpec{Port: 8000})
	})
	w.Graph.Settle()
	want := []string{
		"Farm shop/hens it has no ready endpoint: requests that Gateway shop/web sends there fail",
	}
	found := slices.DeleteFunc(w.Findings(), func(f model.Finding) bool { return f.Object != hens })
	if got := says(found); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func mustGet(v flow.View, w *world.World, ref model.ObjectRef) kind.UntypedObject {
	o, _ := w.Sources.KindSource(ref.Kind()).Get(v, ref)
	return o
}
