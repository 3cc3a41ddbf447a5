package gateway

import (
	"reflect"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
)

// TestSelections: pods are found for the XBackends that a route names where it serves, whatever else is wrong with
// them; and what keeps them from being found is said of the XBackend. Before anybody looked, what is said of it and of
// the Gateway is tentative.
func TestSelections(t *testing.T) {
	g := flow.New(flow.Config{Name: "test", Check: true})
	in := kinds.NewSources(g)
	m := New(g, in, Options{})
	feedback := resource.NewFeedback(g)
	listeners := flow.NewSource[resource.AckStateKey, resource.AckState](g, "listeners")
	routes := flow.NewSource[resource.RouteKey, resource.RouteAckState](g, "routes")
	refused := flow.NewSource[resource.AckStateKey, resource.Refusal](g, "refused")
	reports := m.NewReports(resource.Outputs{
		Listeners: listeners.Collection(), Routes: routes.Collection(), RefusedBackends: refused.Collection(),
	}, feedback)
	meta := model.Meta{LastEdit: &model.LastEdit{}}
	route, app := model.Ref(model.KindHTTPRoute, "shop", "web"), model.Ref(model.KindXBackend, "shop", "app")
	g.Apply("start", func(b *flow.Batch) {
		in.MarkSynced(b)
		listeners.MarkSynced(b)
		routes.MarkSynced(b)
		refused.MarkSynced(b)
		in.Environment.Set(b, model.ObjectRef{}, model.Environment{Fronted: true})
		in.Environment.MarkSynced(b)
		in.GatewayClasses.Set(b, model.Ref(model.KindGatewayClass, "", "cardea"), input.Object[gatewayv1.GatewayClassSpec]{
			Meta: meta, Spec: &gatewayv1.GatewayClassSpec{ControllerName: model.ControllerName},
		})
		in.Gateways.Set(b, model.Ref(model.KindGateway, "shop", "edge"),
			input.Object[gatewayv1.GatewaySpec]{Meta: meta, Spec: &gatewayv1.GatewaySpec{
				GatewayClassName: "cardea", Listeners: []gatewayv1.Listener{{Name: "http", Port: 80,
					Protocol: gatewayv1.HTTPProtocolType}},
			}})
	})
	reference := func(namespace string) gatewayv1.BackendObjectReference {
		group, kind, in := gatewayv1.Group(model.KindXBackend.Group()), gatewayv1.Kind("XBackend"),
			gatewayv1.Namespace(namespace)
		return gatewayv1.BackendObjectReference{Group: &group, Kind: &kind, Namespace: &in, Name: "app"}
	}
	to := func(namespace string, weight int32) []gatewayv1.HTTPRouteRule {
		return []gatewayv1.HTTPRouteRule{{BackendRefs: []gatewayv1.HTTPBackendRef{
			{BackendRef: gatewayv1.BackendRef{BackendObjectReference: reference(namespace), Weight: &weight}},
		}}}
	}
	mirror := []gatewayv1.HTTPRouteRule{{Filters: []gatewayv1.HTTPRouteFilter{{
		Type:          gatewayv1.HTTPRouteFilterRequestMirror,
		RequestMirror: &gatewayv1.HTTPRequestMirrorFilter{BackendRef: reference("shop")},
	}}}}
	selects := func() *xgatewayv1alpha1.BackendSpec {
		labels := map[gatewayv1.LabelKey]gatewayv1.LabelValue{"app": "web"}
		return &xgatewayv1alpha1.BackendSpec{
			Type: xgatewayv1alpha1.BackendTypeEndpointSelector, Port: xgatewayv1alpha1.BackendPort{Number: 3000},
			EndpointSelector: &xgatewayv1alpha1.EndpointSelectorBackend{
				LabelSelector: xgatewayv1alpha1.LabelSelector{MatchLabels: labels},
			},
		}
	}
	broken, hostname, portless := selects(), selects(), selects()
	broken.Protocol = new(xgatewayv1alpha1.BackendProtocolTCP)
	hostname.Type, hostname.EndpointSelector = xgatewayv1alpha1.BackendTypeExternalHostname, nil
	hostname.ExternalHostname = &xgatewayv1alpha1.ExternalHostnameBackend{Hostname: "app.example"}
	portless.Port.Number = 0
	for _, c := range []struct {
		what    string
		spec    *xgatewayv1alpha1.BackendSpec
		gateway gatewayv1.ObjectName
		rules   []gatewayv1.HTTPRouteRule
		found   bool
	}{
		{"nobody names it", selects(), "edge", nil, false},
		{"a route names it", selects(), "edge", to("shop", 1), true},
		{"with the weight 0", selects(), "edge", to("shop", 0), true},
		{"as a mirror", selects(), "edge", mirror, true},
		{"from another namespace, without a grant", selects(), "edge", to("other", 1), false},
		{"by a route that serves nowhere", selects(), "gone", to("shop", 1), false},
		{"it can't be served", broken, "edge", to("shop", 1), true},
		{"it has a hostname", hostname, "edge", to("shop", 1), false},
		{"it states no port", portless, "edge", to("shop", 1), false},
	} {
		for _, deleting := range []bool{false, true} {
			ref := app
			if c.rules != nil && len(c.rules[0].BackendRefs) > 0 {
				ref = model.Ref(model.KindXBackend, string(*c.rules[0].BackendRefs[0].Namespace), "app")
			}
			g.Apply("test", func(b *flow.Batch) {
				in.HTTPRoutes.Set(b, route, input.Object[gatewayv1.HTTPRouteSpec]{Meta: meta, Spec: &gatewayv1.HTTPRouteSpec{
					CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: c.gateway}}},
					Rules:           c.rules,
				}})
				in.XBackends.Set(b, ref, input.Object[xgatewayv1alpha1.BackendSpec]{
					Meta: model.Meta{UID: "u", Deleting: deleting, LastEdit: &model.LastEdit{}}, Spec: c.spec,
				})
			})
			g.Settle()
			want := map[model.ObjectRef]plan.PodSelector{}
			if c.found {
				want[ref] = plan.PodSelector{UID: "u", Labels: map[string]string{"app": "web"}, Port: 3000, Deleting: deleting}
			}
			got := map[model.ObjectRef]plan.PodSelector{}
			g.View(func(v flow.View) {
				for ref, s := range flow.All(v, m.Plan.PodSelectors) {
					got[ref] = s
				}
			})
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, want %+v", c.what, got, want)
			}
			g.Apply("test", func(b *flow.Batch) { in.XBackends.Delete(b, ref) })
		}
	}

	g.Apply("test", func(b *flow.Batch) {
		in.HTTPRoutes.Set(b, route, input.Object[gatewayv1.HTTPRouteSpec]{Meta: meta, Spec: &gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "edge"}}},
			Rules:           to("shop", 1),
		}})
		in.XBackends.Set(b, app, input.Object[xgatewayv1alpha1.BackendSpec]{Meta: meta, Spec: selects()})
	})
	g.Settle()
	edge := model.Ref(model.KindGateway, "shop", "edge")
	tentative := func(want bool) {
		t.Helper()
		g.View(func(v flow.View) {
			backend, _ := reports.ForKind(model.KindXBackend).Get(v, app)
			gateway, _ := reports.ForKind(model.KindGateway).Get(v, edge)
			if backend.Tentative != want || gateway.Tentative != want {
				t.Errorf("tentative: the XBackend's %v, the Gateway's %v, want %v", backend.Tentative, gateway.Tentative, want)
			}
		})
	}
	tentative(true)
	g.Apply("test", func(b *flow.Batch) {
		in.Fronts.Set(b, app, model.Front{Reason: "NoResources", Message: "exceeded quota"})
		in.Fronts.Set(b, edge, model.Front{})
	})
	g.Settle()
	tentative(false)
	g.View(func(v flow.View) {
		report, _ := reports.ForKind(model.KindXBackend).Get(v, app)
		status := report.Status.(xgatewayv1alpha1.BackendStatus)
		if len(report.Findings) != 1 || report.Findings[0].Message != "exceeded quota" || len(status.Ancestors) != 1 {
			t.Fatalf("%+v", report)
		}
		for _, c := range status.Ancestors[0].Conditions {
			if (c.Status == "True") != (c.Type == "Accepted") {
				t.Errorf("%s is %s: %s", c.Type, c.Status, c.Message)
			}
		}
		if r, _ := flow.Get(v, m.Plan.Routes, route); len(r.Findings) > 0 || r.Rules[0].Backends[0].Invalid {
			t.Errorf("the route that names it: %+v", r)
		}
	})
}
