package world_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/translate/backend"
)

// tunnelSpec is a route of the test's kind: connections by the server name that clients ask for.
type tunnelSpec struct {
	gatewayv1.CommonRouteSpec
	Hostnames []gatewayv1.Hostname
	Rules     []kind.ConnectionRule
}

func (s *tunnelSpec) DeepCopyInto(into *tunnelSpec) { *into = *s }

var kindTunnel = model.KindOf("test.example", "Tunnel")

// tunnel is the whole declaration of the kind.
func tunnel() *kind.Kind {
	return &kind.Kind{
		Kind: kindTunnel, Plural: "tunnels", Versions: []string{"v1"}, Content: kind.CustomContent[tunnelSpec](),
		Route: &kind.Route{
			Listeners: []kind.ListenerMode{
				{Protocol: model.TLS, TLS: model.TLSPassthrough}, {Protocol: model.TLS, TLS: model.TLSTerminate},
			},
			Spec: func(spec any) kind.RouteSpec {
				s := spec.(*tunnelSpec)
				return kind.RouteSpec{CommonRouteSpec: &s.CommonRouteSpec, Hostnames: s.Hostnames}
			},
			Connections: func(spec any) []kind.ConnectionRule { return spec.(*tunnelSpec).Rules },
		},
	}
}

// pageSpec is a route of the test's other kind: requests for one path, which a Service answers.
type pageSpec struct {
	gatewayv1.CommonRouteSpec
	Path    string
	Backend gatewayv1.BackendObjectReference
}

func (s *pageSpec) DeepCopyInto(into *pageSpec) { *into = *s }

var kindPage = model.KindOf("test.example", "Page")

// pageKind is the whole declaration of the kind.
func pageKind() *kind.Kind {
	return &kind.Kind{
		Kind: kindPage, Plural: "pages", Versions: []string{"v1"}, Content: kind.CustomContent[pageSpec](),
		Route: &kind.Route{
			Listeners: []kind.ListenerMode{{Protocol: model.HTTP}},
			Spec: func(spec any) kind.RouteSpec {
				return kind.RouteSpec{CommonRouteSpec: &spec.(*pageSpec).CommonRouteSpec}
			},
			HTTP: func(spec any) *gatewayv1.HTTPRouteSpec {
				to := gatewayv1.HTTPBackendRef{BackendRef: gatewayv1.BackendRef{
					BackendObjectReference: spec.(*pageSpec).Backend}}
				return &gatewayv1.HTTPRouteSpec{CommonRouteSpec: spec.(*pageSpec).CommonRouteSpec,
					Rules: []gatewayv1.HTTPRouteRule{{BackendRefs: []gatewayv1.HTTPBackendRef{to}}}}
			},
			Matches: func(spec any) [][]model.Match {
				return [][]model.Match{{{Path: model.PathMatch{Type: model.PathExact, Value: spec.(*pageSpec).Path}}}}
			},
		},
	}
}

const tunnelObjects = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: cardea}
spec: {controllerName: cardea.dev/gateway-controller}
---
apiVersion: cardea.dev/v1alpha1
kind: DataPlane
metadata: {name: other, namespace: shop}
spec: {proxy: EnvoyConfigMap}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: shop}
spec:
  gatewayClassName: cardea
  listeners: [{name: tls, port: 443, protocol: TLS, tls: {mode: Passthrough}}, {name: http, port: 80, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: requests, namespace: shop}
spec:
  gatewayClassName: cardea
  listeners: [{name: tls, port: 443, protocol: TLS, tls: {mode: Passthrough}}, {name: http, port: 80, protocol: HTTP}]
  infrastructure: {parametersRef: {group: cardea.dev, kind: DataPlane, name: other}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: page, namespace: shop}
spec:
  parentRefs: [{name: web, sectionName: tls}]
  rules: [{filters: [{type: RequestRedirect, requestRedirect: {hostname: a}}]}]
---
apiVersion: v1
kind: Service
metadata: {name: db, namespace: shop}
spec: {ports: [{port: 5432, appProtocol: postgresql}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: db-1, namespace: shop, labels: {kubernetes.io/service-name: db}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.9]}]
ports: [{port: 5432}]
---
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: models, namespace: shop}
spec: {selector: {matchLabels: {app: models}}, targetPorts: [{number: 8000}]}
`

// TestRouteKind: a kind of routes is one declaration, and so is a protocol. Where routes attach, what they refer to,
// what is counted and reported, the ports of proxies and backends follow from these. A listener of a protocol that its
// data plane does not serve is not accepted.
func TestRouteKind(t *testing.T) {
	dialect := other()
	dialect.Protocols = []model.Protocol{model.HTTP}
	w := world.New(world.Config{
		Dialects: append(dataplanes.All(), dialect), Extensions: []world.Extension{{Kind: tunnel()}}, Check: true,
		Environment: model.Environment{Addresses: []string{"127.0.0.1"}},
	})
	w.Graph.Apply("start", w.Sources.MarkSynced)
	applyTo(t, w, tunnelObjects, func(o *schema.Object) {
		if spec, ok := o.Spec.(*v1alpha1.DataPlaneSpec); ok {
			spec.Proxy = v1alpha1.ProxyKind(otherDataPlane.Name)
		}
	})
	port := gatewayv1.PortNumber(5432)
	spec := &tunnelSpec{Hostnames: []gatewayv1.Hostname{"db.example"}, Rules: []kind.ConnectionRule{{
		BackendRefs: []gatewayv1.BackendRef{
			{BackendObjectReference: gatewayv1.BackendObjectReference{Name: "db", Port: &port}},
			{BackendObjectReference: gatewayv1.BackendObjectReference{Name: "gone", Port: &port}},
		},
	}}}
	group, kindName := gatewayv1.Group(gatewayv1.GroupName), gatewayv1.Kind("Gateway")
	core, service := gatewayv1.Group(""), gatewayv1.Kind("Service")
	for _, name := range []gatewayv1.ObjectName{"web", "requests"} {
		spec.ParentRefs = append(spec.ParentRefs, gatewayv1.ParentReference{Group: &group, Kind: &kindName, Name: name})
	}
	for i := range spec.Rules[0].BackendRefs {
		spec.Rules[0].BackendRefs[i].Group, spec.Rules[0].BackendRefs[i].Kind = &core, &service
	}
	pools, pool := gatewayv1.Group(model.KindInferencePool.Group()), gatewayv1.Kind(model.KindInferencePool.String())
	spec.Rules[0].BackendRefs = append(spec.Rules[0].BackendRefs, gatewayv1.BackendRef{
		BackendObjectReference: gatewayv1.BackendObjectReference{Group: &pools, Kind: &pool, Name: "models"},
	})
	route := model.Ref(kindTunnel, "shop", "db")
	w.Graph.Apply("tunnel", func(b *flow.Batch) {
		w.Sources.KindSource(kindTunnel).Set(b, route, model.Meta{UID: "7", Generation: 3}, spec)
	})
	w.Graph.Settle()
	web, requests := model.Ref(model.KindGateway, "shop", "web"), model.Ref(model.KindGateway, "shop", "requests")
	db := model.BackendKey{Object: model.Ref(model.KindService, "shop", "db"), Port: 5432, Carries: model.Bytes}
	w.Graph.View(func(v flow.View) {
		listener := func(gateway model.ObjectRef) gatewayv1.ListenerStatus {
			report, _ := w.Reports.ForKind(model.KindGateway).Get(v, gateway)
			return report.Status.(gatewayv1.GatewayStatus).Listeners[0]
		}
		if l := listener(web); reasonOf(l.Conditions, "Accepted") != "Accepted" || l.AttachedRoutes != 1 ||
			len(l.SupportedKinds) != 2 || l.SupportedKinds[1].Kind != "Tunnel" {
			t.Errorf("the listener is %+v", l)
		}
		if l := listener(requests); reasonOf(l.Conditions, "Accepted") != "UnsupportedProtocol" || l.AttachedRoutes != 0 {
			t.Errorf("the listener of a data plane without TLS is %+v", l)
		}
		r, _ := flow.Get(v, w.Plan.Routes, route)
		if len(r.Listeners) != 1 || r.Listeners[0].Gateway != web || r.Listeners[0].Domains[0].Name != "db.example" {
			t.Errorf("it serves at %+v", r.Listeners)
		}
		if len(r.Rules) != 1 || len(r.Rules[0].Backends) != 3 || r.Rules[0].Backends[0].Backend != db ||
			!r.Rules[0].Backends[1].Invalid || !r.Rules[0].Backends[2].Invalid {
			t.Errorf("its rules are %+v", r.Rules)
		}
		if !slices.ContainsFunc(r.Findings, func(f model.Finding) bool {
			return strings.HasPrefix(f.Message,
				"connections can't be sent to InferencePool shop/models, only requests; use Service, XBackend (group ")
		}) {
			t.Errorf("its findings are %+v", r.Findings)
		}
		db.Carries = model.Passthrough // as the listener does
		b, _ := flow.Get(v, w.Plan.Backends, plan.BackendKey{Gateway: web, Backend: db})
		if want := []model.Endpoint{{Address: "10.0.0.9", Port: 5432}}; !slices.Equal(b.Endpoints, want) {
			t.Errorf("its backend has the endpoints %+v, want %+v", b.Endpoints, want)
		}
		report, _ := w.Reports.ForKind(kindTunnel).Get(v, route)
		status, _ := report.Status.(gatewayv1.RouteStatus)
		if len(status.Parents) != 2 || reasonOf(status.Parents[0].Conditions, "Accepted") != "Accepted" ||
			reasonOf(status.Parents[0].Conditions, "ResolvedRefs") != "BackendNotFound" ||
			reasonOf(status.Parents[1].Conditions, "Accepted") != "NotAllowedByListeners" {
			t.Errorf("its status is %+v", status)
		}
		page := mustReport(v, w, model.Ref(model.KindHTTPRoute, "shop", "page"))
		if !strings.Contains(page, "listener tls of shop/web accepts TLSRoutes or Tunnels only") {
			t.Errorf("a route of another kind is told: %s", page)
		}
		proxy, _ := flow.Get(v, w.Plan.Proxies, web)
		if !slices.Contains(proxy.Ports, plan.ProxyPort{Number: 443, Bind: 443, Transport: model.TransportTCP}) {
			t.Errorf("the proxies' ports are %+v", proxy.Ports)
		}
		var names []string
		for _, to := range w.Sources.Catalog.ListReferences(route, spec) {
			names = append(names, to.To.String())
		}
		want := []string{"Gateway shop/web", "Gateway shop/requests", "Service shop/db", "Service shop/gone",
			"InferencePool shop/models"}
		if !slices.Equal(names, want) {
			t.Errorf("it names %q, want %q", names, want)
		}
	})
}

// TestHTTPRouteKind: a kind of routes for requests is one declaration, too. Its specs state rules and matches in words
// of their own.
func TestHTTPRouteKind(t *testing.T) {
	t.Parallel()
	w := world.New(world.Config{
		Dialects: dataplanes.All(), Extensions: []world.Extension{{Kind: pageKind()}}, Check: true,
		Environment: model.Environment{Addresses: []string{"127.0.0.1"}},
	})
	w.Graph.Apply("start", w.Sources.MarkSynced)
	applyTo(t, w, linesObjects)
	page, edge := model.Ref(kindPage, "shop", "about"), model.Ref(model.KindGateway, "shop", "edge")
	w.Graph.Apply("page", func(b *flow.Batch) {
		w.Sources.KindSource(kindPage).Set(b, page, model.Meta{UID: "7", Generation: 3}, &pageSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "edge"}}},
			Path:            "/about",
			Backend:         gatewayv1.BackendObjectReference{Name: "web", Port: new(gatewayv1.PortNumber(80))},
		})
	})
	w.Graph.Settle()
	w.Graph.View(func(v flow.View) {
		r, _ := flow.Get(v, w.Plan.Routes, page)
		want := []model.Match{{Path: model.PathMatch{Type: model.PathExact, Value: "/about"}}}
		if len(r.Rules) != 1 || !reflect.DeepEqual(r.Rules[0].Matches, want) || len(r.Rules[0].Backends) != 1 ||
			len(r.Listeners) != 1 || r.Listeners[0].Gateway != edge {
			t.Errorf("the route is %+v", r)
		}
		report, _ := w.Reports.ForKind(kindPage).Get(v, page)
		status, _ := report.Status.(gatewayv1.RouteStatus)
		if len(report.Findings) > 0 || len(status.Parents) != 1 ||
			reasonOf(status.Parents[0].Conditions, "ResolvedRefs") != "ResolvedRefs" {
			t.Errorf("its status is %+v, findings %+v", status, report.Findings)
		}
		var written strings.Builder
		for _, of := range w.Outputs.Resources {
			for _, resource := range flow.All(v, of) {
				written.Write(resource.AppendBytes(nil))
			}
		}
		if !strings.Contains(written.String(), "/about") {
			t.Error("no data plane has the path of the page")
		}
	})
}

// TestKindsOfOneName: kinds of several groups may have one name, as routes and as backends.
func TestKindsOfOneName(t *testing.T) {
	t.Parallel()
	route, service := pageKind(), farm()
	route.Kind, service.Kind = model.KindOf("test.example", "HTTPRoute"), model.KindOf("test.example", "Service")
	w := world.New(world.Config{
		Dialects: dataplanes.All(),
		Extensions: []world.Extension{{Kind: route}, {Kind: service, Backend: func(in backend.Inputs) backend.Kind {
			return farms{in, input.SourceOf[farmSpec](in.Sources.Sources, service.Kind).Collection()}
		}}},
		Environment: model.Environment{Addresses: []string{"127.0.0.1"}},
	})
	if w.Sources.Catalog.FindKind(route.Kind) == w.Sources.Catalog.FindKind(model.KindHTTPRoute) {
		t.Error("two kinds have one declaration")
	}
}

// reasonOf is the reason of a condition.
func reasonOf(conditions []metav1.Condition, name string) string {
	for _, c := range conditions {
		if c.Type == name {
			return c.Reason
		}
	}
	return ""
}

// mustReport is what the report on an object finds.
func mustReport(v flow.View, w *world.World, ref model.ObjectRef) string {
	report, _ := w.Reports.ForKind(ref.Kind()).Get(v, ref)
	var all []string
	for _, f := range report.Findings {
		all = append(all, f.Describe())
	}
	return strings.Join(all, "; ")
}
