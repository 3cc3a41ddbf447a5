package gateway

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

// TestDataPlane: a Gateway's data plane is the one that its parameters ask for last, and all that is served for the
// Gateway names it. One that the program does not have is refused, and what is deployed stays what it was.
func TestDataPlane(t *testing.T) {
	envoy := model.DataPlane{Name: string(v1alpha1.ProxyEnvoy)}
	configMap := model.DataPlane{Name: string(v1alpha1.ProxyEnvoyConfigMap), ReadsFiles: true}
	both, one := []model.DataPlane{envoy, configMap}, []model.DataPlane{envoy}
	for _, c := range []struct {
		name           string
		built          []model.DataPlane
		class, gateway v1alpha1.ProxyKind
		want           model.DataPlane
		accepted       bool
	}{
		{"default", both, "", "", envoy, true},
		{"class", both, v1alpha1.ProxyEnvoyConfigMap, "", configMap, true},
		{"gateway", both, "", v1alpha1.ProxyEnvoyConfigMap, configMap, true},
		{"the Gateway's counts", both, v1alpha1.ProxyEnvoyConfigMap, v1alpha1.ProxyEnvoy, envoy, true},
		{"not built", one, "", v1alpha1.ProxyEnvoyConfigMap, envoy, false},
		{"the class's not built", one, v1alpha1.ProxyEnvoyConfigMap, "", envoy, false},
		{"not built, not wanted", one, v1alpha1.ProxyEnvoyConfigMap, v1alpha1.ProxyEnvoy, envoy, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := flow.New(flow.Config{Name: "test", Check: true})
			in := kinds.NewSources(g)
			m := New(g, in, Options{DataPlanes: c.built})
			g.Apply("start", func(b *flow.Batch) { setDataPlanes(b, in, c.class, c.gateway) })
			g.Settle()
			g.View(func(v flow.View) {
				for k, p := range flow.All(v, m.Plan.Proxies) {
					if p.DataPlane != c.want || p.Accepted != c.accepted {
						t.Errorf("proxy of %s: %s, accepted %t", k, p.DataPlane, p.Accepted)
					}
				}
				got := map[string]model.DataPlane{}
				for _, x := range flow.All(v, m.Plan.Gateways) {
					got["Gateway"] = x.DataPlane
				}
				for _, x := range flow.All(v, m.Plan.Ports) {
					got["Port"] = x.DataPlane
				}
				for _, x := range flow.All(v, m.Plan.Listeners) {
					got["Listener"] = x.DataPlane
				}
				for _, x := range flow.All(v, m.Plan.Routes) {
					got["Route"] = x.DataPlaneOf(x.Listeners[0].Gateway)
				}
				for _, x := range flow.All(v, m.Plan.Backends) {
					got["Backend"] = x.DataPlane
				}
				if len(got) != 5 {
					t.Errorf("the plan has only %v", got)
				}
				for name, plane := range got {
					if plane != c.want {
						t.Errorf("%s: %s, want %s", name, plane, c.want)
					}
				}
			})
		})
	}
}

// setDataPlanes sets a Gateway with a route to a Service, and what its class and itself ask for; "": nothing.
func setDataPlanes(b *flow.Batch, in *kinds.Sources, class, gateway v1alpha1.ProxyKind) {
	in.MarkSynced(b)
	in.Environment.Set(b, model.ObjectRef{}, model.Environment{Fronted: true, Addresses: []string{"0.0.0.0"}})
	in.Environment.MarkSynced(b)
	meta := model.Meta{LastEdit: &model.LastEdit{}}
	group, kind := gatewayv1.Group(model.KindDataPlane.Group()), gatewayv1.Kind("DataPlane")
	classSpec := &gatewayv1.GatewayClassSpec{ControllerName: model.ControllerName}
	gatewaySpec := &gatewayv1.GatewaySpec{
		GatewayClassName: "cardea",
		Listeners:        []gatewayv1.Listener{{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType}},
	}
	if class != "" {
		namespace := gatewayv1.Namespace("shop")
		classSpec.ParametersRef = &gatewayv1.ParametersReference{
			Group: group, Kind: kind, Namespace: &namespace, Name: "of-class",
		}
	}
	if gateway != "" {
		gatewaySpec.Infrastructure = &gatewayv1.GatewayInfrastructure{
			ParametersRef: &gatewayv1.LocalParametersReference{Group: group, Kind: kind, Name: "of-gateway"},
		}
	}
	for name, proxy := range map[string]v1alpha1.ProxyKind{"of-class": class, "of-gateway": gateway} {
		in.DataPlanes.Set(b, model.Ref(model.KindDataPlane, "shop", name),
			input.Object[v1alpha1.DataPlaneSpec]{Meta: meta, Spec: &v1alpha1.DataPlaneSpec{Proxy: proxy}})
	}
	in.GatewayClasses.Set(b, model.Ref(model.KindGatewayClass, "", "cardea"),
		input.Object[gatewayv1.GatewayClassSpec]{Meta: meta, Spec: classSpec})
	in.Gateways.Set(b, model.Ref(model.KindGateway, "shop", "edge"),
		input.Object[gatewayv1.GatewaySpec]{Meta: meta, Spec: gatewaySpec})
	in.Services.Set(b, model.Ref(model.KindService, "shop", "web"),
		input.Object[corev1.ServiceSpec]{Meta: meta, Spec: &corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	port := gatewayv1.PortNumber(80)
	backend := gatewayv1.BackendObjectReference{Name: "web", Port: &port}
	in.HTTPRoutes.Set(b, model.Ref(model.KindHTTPRoute, "shop", "web"), input.Object[gatewayv1.HTTPRouteSpec]{
		Meta: meta, Spec: &gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "edge"}}},
			Rules: []gatewayv1.HTTPRouteRule{{BackendRefs: []gatewayv1.HTTPBackendRef{{
				BackendRef: gatewayv1.BackendRef{BackendObjectReference: backend},
			}}}},
		},
	})
}
