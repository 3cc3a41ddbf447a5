package gateway

import (
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// TestClassKept: a class that is being deleted says how many Gateways it waits for.
func TestClassKept(t *testing.T) {
	g := flow.New(flow.Config{Name: "test", Check: true})
	in := kinds.NewSources(g)
	m := New(g, in, Options{})
	listeners := flow.NewSource[resource.AckStateKey, resource.AckState](g, "listeners")
	routes := flow.NewSource[resource.RouteKey, resource.RouteAckState](g, "routes")
	outputs := resource.Outputs{Listeners: listeners.Collection(), Routes: routes.Collection()}
	reports := m.NewReports(outputs, resource.NewFeedback(g))
	class := model.Ref(model.KindGatewayClass, "", "cardea")
	says := func(want string, edit func(*flow.Batch)) {
		t.Helper()
		g.Apply("edit", edit)
		g.Settle()
		g.View(func(v flow.View) {
			r, _ := reports.ForKind(model.KindGatewayClass).Get(v, class)
			if got := r.Status.(gatewayv1.GatewayClassStatus).Conditions[0].Message; !strings.HasSuffix(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	gateway := func(b *flow.Batch, name string) {
		in.Gateways.Set(b, model.Ref(model.KindGateway, "shop", name), input.Object[gatewayv1.GatewaySpec]{
			Meta: model.Meta{LastEdit: &model.LastEdit{}}, Spec: &gatewayv1.GatewaySpec{GatewayClassName: "cardea"},
		})
	}
	set := func(b *flow.Batch, deleting bool) {
		in.GatewayClasses.Set(b, class, input.Object[gatewayv1.GatewayClassSpec]{
			Meta: model.Meta{LastEdit: &model.LastEdit{}, Deleting: deleting},
			Spec: &gatewayv1.GatewayClassSpec{ControllerName: model.ControllerName},
		})
	}
	says("is served by this controller", func(b *flow.Batch) {
		in.MarkSynced(b)
		listeners.MarkSynced(b)
		routes.MarkSynced(b)
		in.Environment.Set(b, model.ObjectRef{}, model.Environment{Fronted: true})
		in.Environment.MarkSynced(b)
		set(b, false)
		gateway(b, "a")
		gateway(b, "b")
	})
	says("it is being deleted, and waits for 2 Gateways", func(b *flow.Batch) { set(b, true) })
	says("and waits for 1 Gateway", func(b *flow.Batch) {
		in.Gateways.Delete(b, model.Ref(model.KindGateway, "shop", "a"))
	})
	says("is served by this controller", func(b *flow.Batch) {
		in.Gateways.Delete(b, model.Ref(model.KindGateway, "shop", "b"))
	})
}
