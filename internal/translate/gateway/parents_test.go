package gateway

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// TestStandingPerParent: what two data planes say of one route stands at the parent whose proxies they are, and among
// the findings with its Gateway; what both say is found once.
func TestStandingPerParent(t *testing.T) {
	g := flow.New(flow.Config{Name: "test", Check: true})
	in := kinds.NewSources(g)
	m := New(g, in, Options{})
	feedback := resource.NewFeedback(g)
	listeners := flow.NewSource[resource.AckStateKey, resource.AckState](g, "listeners")
	routes := flow.NewSource[resource.RouteKey, resource.RouteAckState](g, "routes")
	reports := m.NewReports(resource.Outputs{Listeners: listeners.Collection(), Routes: routes.Collection()},
		feedback)
	route := model.Ref(model.KindHTTPRoute, "shop", "web")
	gateways := []model.ObjectRef{model.Ref(model.KindGateway, "shop", "a"), model.Ref(model.KindGateway, "shop", "b")}
	g.Apply("start", func(b *flow.Batch) {
		setRouteOnGateways(b, in, route, gateways)
		listeners.MarkSynced(b)
		routes.MarkSynced(b)
		for _, gateway := range gateways {
			feedback.Proxies.Set(b, gateway, resource.ProxySummary{Connected: 1, Acknowledged: 1})
		}
	})
	acknowledged := resource.AckState{Acknowledged: true}
	cannot := model.Finding{
		Object: route, Section: "only", Condition: "Accepted", Reason: "UnsupportedValue", Drops: true, Field: ".filters",
		Message: "this data plane has no mirrors",
	}
	const dropped = "Dropped Rule (its requests get 500): spec.rules[0].filters: this data plane has no mirrors"
	for _, c := range []struct {
		name        string
		at          [2]resource.AckState
		unsupported [2][]model.Finding
		want        [2]string // Accepted and Programmed at each parent
		findings    []string
	}{
		{"acknowledged by both", [2]resource.AckState{acknowledged, acknowledged}, [2][]model.Finding{},
			[2]string{"True Accepted; True Programmed", "True Accepted; True Programmed"}, nil},
		{"unsupported at one", [2]resource.AckState{acknowledged, acknowledged}, [2][]model.Finding{1: {cannot}},
			[2]string{"True Accepted; True Programmed", "False UnsupportedValue: " + dropped + "; True Programmed"},
			[]string{"shop/b: spec.rules[0].filters: at Gateway shop/b: this data plane has no mirrors"}},
		{"unsupported at both", [2]resource.AckState{acknowledged, acknowledged}, [2][]model.Finding{{cannot}, {cannot}},
			[2]string{
				"False UnsupportedValue: " + dropped + "; True Programmed",
				"False UnsupportedValue: " + dropped + "; True Programmed",
			},
			[]string{"/: spec.rules[0].filters: this data plane has no mirrors"}},
		{"refused by one, on its way to the other", [2]resource.AckState{{Refused: "no such filter"}, {}},
			[2][]model.Finding{},
			[2]string{"True Accepted; False RejectedByProxy", "True Accepted; False Pending"},
			[]string{"shop/a: spec.rules[0]: the proxy rejected it: no such filter"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g.Apply("standing", func(b *flow.Batch) {
				for i, gateway := range gateways {
					routes.Set(b, resource.RouteKey{Gateway: gateway, Route: route}, resource.RouteAckState{
						Listeners: []resource.ListenerAckState{{
							Listener: model.ListenerKey{Parent: gateway, Section: "http"}, Rules: c.at[i : i+1],
						}},
						Unsupported: c.unsupported[i],
					})
				}
			})
			g.Settle()
			g.View(func(v flow.View) {
				r, _ := reports.ForKind(model.KindHTTPRoute).Get(v, route)
				for i, parent := range r.Status.(gatewayv1.HTTPRouteStatus).Parents {
					if got := acceptedAndProgrammed(parent.Conditions); got != c.want[i] {
						t.Errorf("parent %d: got %s\nwant %s", i, got, c.want[i])
					}
				}
				var findings []string
				for _, f := range r.Findings {
					findings = append(findings, fmt.Sprintf("%s/%s: %s", f.Parent.Namespace, f.Parent.Name, f.Describe()))
				}
				if !slices.Equal(findings, c.findings) {
					t.Errorf("findings: got %q\nwant %q", findings, c.findings)
				}
			})
		})
	}
}

func acceptedAndProgrammed(list []metav1.Condition) (text string) {
	for _, c := range list {
		switch c.Type {
		case "Accepted":
			text = string(c.Status) + " " + c.Reason
			if c.Status == metav1.ConditionFalse {
				text += ": " + c.Message
			}
		case "cardea.dev/Programmed":
			text += "; " + string(c.Status) + " " + c.Reason
		}
	}
	return text
}

// setRouteOnGateways sets Gateways with a listener each, and an HTTPRoute of one rule, named "only", on all of them.
func setRouteOnGateways(b *flow.Batch, in *kinds.Sources, route model.ObjectRef, gateways []model.ObjectRef) {
	in.MarkSynced(b)
	in.Environment.Set(b, model.ObjectRef{}, model.Environment{Addresses: []string{"127.0.0.1"}})
	in.Environment.MarkSynced(b)
	meta := model.Meta{LastEdit: &model.LastEdit{}}
	in.GatewayClasses.Set(b, model.Ref(model.KindGatewayClass, "", "cardea"), input.Object[gatewayv1.GatewayClassSpec]{
		Meta: meta, Spec: &gatewayv1.GatewayClassSpec{ControllerName: model.ControllerName},
	})
	name := gatewayv1.SectionName("only")
	redirect := gatewayv1.HTTPRouteFilter{
		Type: gatewayv1.HTTPRouteFilterRequestRedirect, RequestRedirect: &gatewayv1.HTTPRequestRedirectFilter{},
	}
	spec := &gatewayv1.HTTPRouteSpec{Rules: []gatewayv1.HTTPRouteRule{{
		Name: &name, Filters: []gatewayv1.HTTPRouteFilter{redirect},
	}}}
	for _, gateway := range gateways {
		in.Gateways.Set(b, gateway, input.Object[gatewayv1.GatewaySpec]{Meta: meta, Spec: &gatewayv1.GatewaySpec{
			GatewayClassName: "cardea",
			Listeners:        []gatewayv1.Listener{{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType}},
		}})
		spec.ParentRefs = append(spec.ParentRefs, gatewayv1.ParentReference{Name: gatewayv1.ObjectName(gateway.Name())})
	}
	in.HTTPRoutes.Set(b, route, input.Object[gatewayv1.HTTPRouteSpec]{Meta: meta, Spec: spec})
}
