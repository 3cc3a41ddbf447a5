package gateway

import (
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
)

// TestClassMissing: a Gateway that was served goes on being served as it was while its class does not exist, and says
// so; it is let go to another controller's class. One that never was served is nobody's.
func TestClassMissing(t *testing.T) {
	g := flow.New(flow.Config{Name: "test", Check: true})
	in := kinds.NewSources(g)
	m := New(g, in, Options{})
	feedback := resource.NewFeedback(g)
	listeners := flow.NewSource[resource.AckStateKey, resource.AckState](g, "listeners")
	routes := flow.NewSource[resource.RouteKey, resource.RouteAckState](g, "routes")
	reports := m.NewReports(resource.Outputs{Listeners: listeners.Collection(), Routes: routes.Collection()},
		feedback)
	web := model.Ref(model.KindGateway, "shop", "web")
	object := input.Object[gatewayv1.GatewaySpec]{
		Meta: model.Meta{UID: "u", Generation: 1, LastEdit: &model.LastEdit{}},
		Spec: &gatewayv1.GatewaySpec{
			GatewayClassName: "cardea",
			Listeners:        []gatewayv1.Listener{{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType}},
		},
	}
	class := func(b *flow.Batch, name, controller string) {
		in.GatewayClasses.Set(b, model.Ref(model.KindGatewayClass, "", name), input.Object[gatewayv1.GatewayClassSpec]{
			Meta: model.Meta{LastEdit: &model.LastEdit{}},
			Spec: &gatewayv1.GatewayClassSpec{ControllerName: gatewayv1.GatewayController(controller)},
		})
	}
	g.Apply("start", func(b *flow.Batch) {
		in.MarkSynced(b)
		listeners.MarkSynced(b)
		routes.MarkSynced(b)
		in.Environment.Set(b, model.ObjectRef{}, model.Environment{Fronted: true})
		in.Environment.MarkSynced(b)
		class(b, "cardea", model.ControllerName)
		class(b, "theirs", "example.com/other")
	})
	for _, c := range []struct {
		what, class            string
		held, deleting         bool
		run, leaving, accepted bool // there is something to run, or to take away; the Gateway is accepted
		served                 bool // there is a listener in the plan
		status, finding        string
	}{
		{what: "new", class: "cardea", run: true, accepted: true, served: true, status: "Accepted"},
		{what: "held", class: "cardea", held: true, run: true, accepted: true, served: true, status: "Accepted"},
		{what: "mistyped", class: "carrdea", held: true, run: true, served: true, status: "Pending",
			finding: "as it was before; did you mean cardea?"},
		{what: "mistyped and deleted", class: "carrdea", held: true, deleting: true, run: true, leaving: true, served: true,
			status: "Pending"},
		{what: "mistyped at first", class: "carrdea", finding: "no controller serves this Gateway; did you mean cardea?"},
		{what: "another controller's", class: "theirs", held: true, run: true, leaving: true},
		{what: "another controller's alone", class: "theirs"},
		{what: "back", class: "cardea", run: true, accepted: true, served: true, status: "Accepted"},
	} {
		g.Apply(c.what, func(b *flow.Batch) {
			spec := *object.Spec
			spec.GatewayClassName = gatewayv1.ObjectName(c.class)
			o := object
			o.Spec, o.Meta.HasFinalizer, o.Meta.Deleting = &spec, c.held, c.deleting
			in.Gateways.Set(b, web, o)
		})
		g.Settle()
		g.View(func(v flow.View) {
			p, run := flow.Get(v, m.Plan.Proxies, web)
			_, served := flow.Get(v, m.Plan.Listeners, model.ListenerKey{Parent: web, Section: "http"})
			if run != c.run || p.Deleting != c.leaving || p.Accepted != c.accepted || p.HasFinalizer != c.held ||
				served != c.served {
				t.Errorf("%s: %v %+v; served %v", c.what, run, p, served)
			}
			if run && (p.UID != "u" || p.Name != ProxyName(web)) {
				t.Errorf("%s: %+v", c.what, p)
			}
			r, _ := reports.ForKind(model.KindGateway).Get(v, web)
			if status := acceptedReason(r); status != c.status {
				t.Errorf("%s: the status is %q", c.what, status)
			}
			unclassed, _ := flow.Get(v, reports.OtherFindings, web)
			var said []string
			for _, f := range append(r.Findings, unclassed...) {
				said = append(said, f.Message)
			}
			if !strings.Contains(strings.Join(said, "; "), c.finding) || len(unclassed) > 0 && run {
				t.Errorf("%s: %q", c.what, said)
			}
		})
	}
}

func acceptedReason(r plan.Report[any]) string {
	for _, c := range r.Status.(gatewayv1.GatewayStatus).Conditions {
		if c.Type == "Accepted" {
			return c.Reason
		}
	}
	return ""
}
