package kube

import (
	"context"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// shopObjects is an object of each kind but Secret.
const shopObjects = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: "%s"}
spec: {controllerName: cardea.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: "%s"}
spec:
  gatewayClassName: "%s"
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
apiVersion: v1
kind: Service
metadata: {name: shop, namespace: "%s", labels: {app: shop}}
spec:
  ports: [{name: http, port: 80, targetPort: 8080}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: shop-1, namespace: "%s", labels: {kubernetes.io/service-name: shop, other: label}}
addressType: IPv4
endpoints: [{addresses: [10.1.2.3], conditions: {ready: true}, nodeName: somewhere}]
ports: [{name: http, port: 8080}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: "%s", labels: {app: shop}}
spec:
  parentRefs: [{name: web}]
  rules: [{backendRefs: [{name: shop, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: open, namespace: "%s"}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: elsewhere}]
  to: [{group: "", kind: Service}]
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: app, namespace: "%s"}
spec: {type: ExternalHostname, port: {number: 3000}, externalHostname: {hostname: app.example}}
---
apiVersion: cardea.dev/v1alpha1
kind: DataPlane
metadata: {name: small, namespace: "%s"}
spec: {replicas: 1}
`

// TestLoad reads an object of each kind, what is kept of it and nothing else.
func TestLoad(t *testing.T) {
	p := newPlace(t)
	p.apply(shopObjects)
	before := metav1.Now()
	r := p.read().synced()
	s := r.sources

	gateway := await(r, s.Gateways, p.ref(model.KindGateway, "web"), anyway)
	if l := gateway.Spec.Listeners; len(l) != 1 || l[0].AllowedRoutes == nil {
		t.Errorf("listeners %+v, want one, with the API server's defaults", l)
	}
	m := gateway.Meta
	if m.UID == "" || m.Generation != 1 || m.Created.IsZero() || m.Deleting || m.LastEdit.By != "testcluster" ||
		m.LastEdit.At.Before(m.Created) || m.LastEdit.At.After(before.Time) {
		t.Errorf("metadata %+v", m)
	}
	if o := await(r, s.GatewayClasses, model.Ref(model.KindGatewayClass, "", p.namespace),
		anyway); o.Spec.ControllerName != model.ControllerName {
		t.Errorf("GatewayClass %+v", o)
	}
	route := await(r, s.HTTPRoutes, p.ref(model.KindHTTPRoute, "shop"), anyway)
	if len(route.Spec.Rules) != 1 || *route.Spec.Rules[0].BackendRefs[0].Port != 80 ||
		route.Meta.Labels.Get("app") != "shop" {
		t.Errorf("HTTPRoute %+v", route)
	}
	if o := await(r, s.ReferenceGrants, p.ref(model.KindReferenceGrant, "open"),
		anyway); o.Spec.From[0].Namespace != "elsewhere" {
		t.Errorf("ReferenceGrant %+v", o)
	}
	namespace := await(r, s.Namespaces, model.Ref(model.KindNamespace, "", p.namespace), anyway)
	if namespace.Meta.Labels.Get(corev1.LabelMetadataName) != p.namespace {
		t.Errorf("Namespace %+v", namespace)
	}
	service := await(r, s.Services, p.ref(model.KindService, "shop"), anyway)
	if service.Spec.ClusterIP == "" || len(service.Spec.Ports) != 1 || service.Spec.Ports[0].Port != 80 ||
		service.Meta.Labels.Get("app") != "shop" {
		t.Errorf("Service %+v", service)
	}
	slice := await(r, s.EndpointSlices, p.ref(model.KindEndpointSlice, "shop-1"), anyway)
	if e := slice.Spec.Endpoints[0]; e.Addresses[0] != "10.1.2.3" || !*e.Conditions.Ready || e.NodeName != nil {
		t.Errorf("EndpointSlice %+v", slice)
	}
	if want := (model.Labels{{Key: discoveryv1.LabelServiceName, Value: "shop"}}); !slices.Equal(slice.Meta.Labels, want) {
		t.Errorf("labels %v, want %v", slice.Meta.Labels, want)
	}
	if o := await(r, s.XBackends, p.ref(model.KindXBackend, "app"),
		anyway); o.Spec.ExternalHostname.Hostname != "app.example" {
		t.Errorf("XBackend %+v", o)
	}
	if o := await(r, s.DataPlanes, p.ref(model.KindDataPlane, "small"), anyway); *o.Spec.Replicas != 1 {
		t.Errorf("DataPlane %+v", o)
	}

	state := r.edge.State()
	if bundles := state.BundleVersions(); len(bundles) != 1 || bundles[0] != "v1.7.0" {
		t.Errorf("bundles %v", bundles)
	}
	k := r.kind(model.KindHTTPRoute)
	if k.Objects < 1 || k.Channel != "experimental" || k.Version != "gateway.networking.k8s.io/v1" ||
		k.Missing+k.Err != "" {
		t.Errorf("state %+v", k)
	}
	if k := r.kind(model.KindDataPlane); k.Bundle != "" || k.Version != "cardea.dev/v1alpha1" {
		t.Errorf("state %+v", k)
	}
}

// TestEdit: an edit arrives, with who made it; what is no edit of what is kept does not.
func TestEdit(t *testing.T) {
	p := newPlace(t)
	p.apply(shopObjects)
	r := p.read().synced()
	ref, routes := p.ref(model.KindHTTPRoute, "shop"), r.sources.HTTPRoutes
	first := await(r, routes, ref, anyway)
	changes := follows(r, routes, ref)
	services := follows(r, r.sources.Services, p.ref(model.KindService, "shop"))

	// A label, a finalizer and a status, each by another manager; then an edit, which arrives after them.
	const path = "/apis/gateway.networking.k8s.io/v1/namespaces/%s/httproutes/shop"
	p.patch("labeller", path, "", `{"metadata":{"labels":{"some":"label"}}}`)
	p.patch("finalizer", path, "", `{"metadata":{"finalizers":["example.com/here"]}}`)
	p.patch("status", path, "/status", `{"status":{"parents":[
		{"controllerName":"example.com/other","parentRef":{"name":"web"},"conditions":[
			{"type":"Accepted","status":"True","reason":"Accepted","message":"",
			"lastTransitionTime":"2026-01-01T00:00:00Z"}]}]}}`)
	p.patch("editor", path, "", `{"spec":{"hostnames":["shop.example"]}}`)
	now := await(r, routes, ref, func(o routeObject) bool { return o.Meta.Generation == 2 })
	if list := changes.changes(); len(list) != 1 {
		t.Errorf("%d changes, want 1: %+v", len(list), list)
	}
	if e := now.Meta.LastEdit; e.By != "editor" || e.At.Before(first.Meta.LastEdit.At) || now.Meta.UID != first.Meta.UID {
		t.Errorf("metadata %+v", now.Meta)
	}
	// Who reads it for the first time reads the same.
	second := p.read().synced()
	if again := await(second, second.sources.HTTPRoutes, ref, anyway); !reflect.DeepEqual(again.Meta, now.Meta) {
		t.Errorf("read again: %+v, want %+v", again.Meta, now.Meta)
	}

	// The same for a kind without a generation that can be relied on.
	const service = "/api/v1/namespaces/%s/services/shop"
	p.patch("labeller", service, "", `{"metadata":{"annotations":{"some":"annotation"}}}`)
	p.patch("status", service, "/status", `{"status":{"conditions":[
		{"type":"Some","status":"True","reason":"Some","message":"",
			"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
	p.patch("editor", service, "", `{"spec":{"ports":[{"name":"http","port":80,"appProtocol":"http"}]}}`)
	edited := await(r, r.sources.Services, p.ref(model.KindService, "shop"),
		func(o serviceObject) bool { return o.Spec.Ports[0].AppProtocol != nil })
	if list := services.changes(); len(list) != 1 || edited.Meta.LastEdit.By != "editor" {
		t.Errorf("%d changes, want 1; %+v", len(list), edited.Meta)
	}

	// A finalizer keeps the route for a while; that it is about to go is news.
	p.delete(path)
	await(r, routes, ref, func(o routeObject) bool { return o.Meta.Deleting })
	p.patch("finalizer", path, "", `{"metadata":{"finalizers":[]}}`)
	awaitGone(r, routes, ref)
}

// TestNamespaceLabels: they decide which routes a listener takes.
func TestNamespaceLabels(t *testing.T) {
	p := newPlace(t)
	r := p.read().synced()
	ref := model.Ref(model.KindNamespace, "", p.namespace)
	p.patch("editor", "/api/v1/namespaces/%s", "", `{"metadata":{"labels":{"team":"shop"}}}`)
	o := await(r, r.sources.Namespaces, ref,
		func(o input.Object[input.NamespaceSpec]) bool { return o.Meta.Labels.Get("team") == "shop" })
	if o.Meta.LastEdit.By != "editor" {
		t.Errorf("edited by %q", o.Meta.LastEdit.By)
	}
}

// patch changes an object, or a subresource of it, by a JSON merge patch, as a manager. %s in the path is the place's
// namespace.
func (p *place) patch(manager, path, sub, text string) {
	p.t.Helper()
	err := p.Client.RESTClient().Patch("application/merge-patch+json").AbsPath(p.path(path)+sub).Param("fieldManager",
		manager).
		Body([]byte(text)).Do(context.Background()).Error()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) delete(path string) {
	p.t.Helper()
	if err := p.Client.RESTClient().Delete().AbsPath(p.path(path)).Do(context.Background()).Error(); err != nil {
		p.t.Fatal(err)
	}
}
