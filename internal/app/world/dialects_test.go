package world_test

import (
	"slices"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/dataplane/envoy"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

const objects = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: cardea}
spec: {controllerName: cardea.dev/gateway-controller}
---
apiVersion: cardea.dev/v1alpha1
kind: DataPlane
metadata: {name: other, namespace: default}
spec: {proxy: EnvoyConfigMap}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: a, namespace: default}
spec: {gatewayClassName: cardea, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: b, namespace: default}
spec:
  gatewayClassName: cardea
  listeners: [{name: http, port: 80, protocol: HTTP}]
  infrastructure: {parametersRef: {group: cardea.dev, kind: DataPlane, name: other}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: both, namespace: default}
spec:
  parentRefs: [{name: a}, {name: b}]
  rules: [{filters: [{type: RequestRedirect, requestRedirect: {hostname: c.example}}]}]
`

var otherDataPlane = model.DataPlane{Name: "Other"}

// other is a data plane that renders a listener for each of its Gateways, and says of each route that it was refused.
func other() dataplane.Dialect {
	name := otherDataPlane
	return dataplane.Dialect{Name: name, Proxy: "Other", Protocol: envoy.Protocol(), Render: func(
		_ *flow.Graph, p plan.Plan, _ *resource.Feedback,
	) (out resource.Outputs) {
		for _, t := range xdstypes.All() {
			key := func(ref model.ObjectRef) resource.Key { return resource.Key{Gateway: ref, Type: t, Name: "other"} }
			out.Resources = append(out.Resources, flow.Rename(p.Gateways, "other/"+xdstypes.Name(t), key,
				func(_ *flow.Ctx, _ model.ObjectRef, g model.Gateway) (resource.Resource, bool) {
					return resource.Resource{Version: "1"}, g.DataPlane == name && t == xdstypes.Listener
				}))
		}
		out.Routes = flow.Derive(p.Routes, "other/routes", func(
			_ *flow.Ctx, ref model.ObjectRef, r model.Route, emit func(resource.RouteKey, resource.RouteAckState),
		) {
			for _, g := range r.Gateways {
				if g.DataPlane == name {
					problem := model.Finding{Object: ref, Message: "no"}
					key := resource.RouteKey{Gateway: g.Ref, Route: ref}
					emit(key, resource.RouteAckState{Unsupported: []model.Finding{problem}})
				}
			}
		})
		standing := func(ref model.ObjectRef) resource.AckStateKey { return resource.AckStateKey{Gateway: ref} }
		out.Listeners = flow.Rename(p.Gateways, "other/listeners", standing,
			func(*flow.Ctx, model.ObjectRef, model.Gateway) (s resource.AckState, ok bool) { return s, false })
		out.Settings = flow.Rename(p.Gateways, "other/settings", standing,
			func(*flow.Ctx, model.ObjectRef, model.Gateway) (resource.AckState, bool) {
				return resource.AckState{}, false
			})
		out.RefusedBackends = flow.Rename(p.Gateways, "other/refused", standing,
			func(*flow.Ctx, model.ObjectRef, model.Gateway) (r resource.Refusal, ok bool) { return r, false })
		out.Policies = flow.Rename(p.Gateways, "other/policies", standing,
			func(*flow.Ctx, model.ObjectRef, model.Gateway) (s resource.AckState, ok bool) { return s, false })
		out.RuleChanged = func(flow.View, model.RuleKey) flow.Rev { return 0 }
		return out
	}}
}

// TestDialectsAreJoined: each Gateway has what its own data plane renders, and a route on Gateways of two what each
// says of it.
func TestDialectsAreJoined(t *testing.T) {
	w := world.New(world.Config{
		Dialects: append(dataplanes.All(), other()), Check: true,
		Environment: model.Environment{Addresses: []string{"127.0.0.1"}},
	})
	w.Graph.Apply("start", w.Sources.MarkSynced)
	apply(t, w, objects)
	a, b := model.Ref(model.KindGateway, "default", "a"), model.Ref(model.KindGateway, "default", "b")
	route := model.Ref(model.KindHTTPRoute, "default", "both")
	w.Graph.View(func(v flow.View) {
		var listeners []string
		for key := range w.Outputs.All(v, xdstypes.Listener) {
			listeners = append(listeners, key.Gateway.Name()+" "+key.Name)
		}
		slices.Sort(listeners)
		if want := []string{"a 127.0.0.1:80", "b other"}; !slices.Equal(listeners, want) {
			t.Errorf("listeners %q, want %q", listeners, want)
		}
		for ref, want := range map[model.ObjectRef]model.DataPlane{
			a: naming.DataPlane, b: otherDataPlane, {}: naming.DataPlane,
		} {
			if got := w.DialectOf(v, ref).Name; got != want {
				t.Errorf("the data plane of %s is %s, want %s", ref, got, want)
			}
		}
		for ref, want := range map[model.ObjectRef]int{a: 0, b: 1} {
			standing, found := flow.Get(v, w.Outputs.Routes, resource.RouteKey{Gateway: ref, Route: route})
			if !found || len(standing.Unsupported) != want {
				t.Errorf("the route at %s: %+v (%t), want %d findings", ref, standing, found, want)
			}
		}
		if n := flow.Len(v, w.Outputs.Listeners); n != 1 {
			t.Errorf("%d standings of listeners, want that of Envoy's", n)
		}
	})
}

func apply(t *testing.T, w *world.World, text string) {
	t.Helper()
	applyTo(t, w, text, func(o *schema.Object) {
		if spec, ok := o.Spec.(*v1alpha1.DataPlaneSpec); ok {
			spec.Proxy = v1alpha1.ProxyKind(otherDataPlane.Name) // which the schema does not know
		}
	})
}

// applyTo puts objects into a world; each edit is made to an object that the schema has taken.
func applyTo(t *testing.T, w *world.World, text string, edits ...func(*schema.Object)) {
	t.Helper()
	s := schema.New(w.Sources.Catalog)
	var list []*schema.Object
	for part := range strings.SplitSeq(text, "---\n") {
		b, err := yaml.YAMLToJSON([]byte(part))
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := utiljson.Unmarshal(b, &doc); err != nil { // integers stay integers
			t.Fatal(err)
		}
		o, problems := s.Check(doc, schema.Options{})
		if len(problems) > 0 {
			t.Fatalf("%v\n%s", problems, part)
		}
		for _, edit := range edits {
			edit(o)
		}
		list = append(list, o)
	}
	w.Graph.Apply("test", func(b *flow.Batch) {
		for _, o := range list {
			w.Sources.KindSource(o.Ref.Kind()).Set(b, o.Ref, model.Meta{Generation: 1, Labels: o.Labels}, o.Spec)
		}
	})
	w.Graph.Settle()
}
