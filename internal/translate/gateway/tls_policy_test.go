package gateway

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// TestAPolicyIsReadForItsBackend: an edit of a policy runs nothing of the routes to its target, nor of other backends.
// One with a field that this version does not know closes its target.
func TestAPolicyIsReadForItsBackend(t *testing.T) {
	g := newGate(t, model.Budgets{})
	policy := model.Ref(model.KindBackendTLSPolicy, "a", "app")
	put := func(hostname string, unknown ...string) flow.Turn {
		g.apply(func(b *flow.Batch) {
			g.in.BackendTLSPolicies.Set(b, policy, input.Object[gatewayv1.BackendTLSPolicySpec]{
				Meta: model.Meta{Unknown: unknown},
				Spec: &gatewayv1.BackendTLSPolicySpec{
					TargetRefs: []gatewayv1.LocalPolicyTargetReferenceWithSectionName{{
						LocalPolicyTargetReference: gatewayv1.LocalPolicyTargetReference{Kind: "Service", Name: "app"},
					}},
					Validation: gatewayv1.BackendTLSPolicyValidation{
						Hostname:                gatewayv1.PreciseHostname(hostname),
						WellKnownCACertificates: new(gatewayv1.WellKnownCACertificatesSystem),
					},
				},
			})
		})
		turns := g.graph.Turns()
		return turns[len(turns)-1]
	}
	g.apply(func(b *flow.Batch) {
		for _, name := range []string{"app", "other"} {
			rule, port := unnamed("/"), gatewayv1.PortNumber(443)
			rule.BackendRefs = make([]gatewayv1.HTTPBackendRef, 1)
			rule.BackendRefs[0].Name, rule.BackendRefs[0].Port = gatewayv1.ObjectName(name), &port
			spec := &gatewayv1.HTTPRouteSpec{Rules: []gatewayv1.HTTPRouteRule{rule}}
			spec.ParentRefs = []gatewayv1.ParentReference{{Name: "web"}}
			g.in.HTTPRoutes.Set(b, routeRef("a/"+name), input.Object[gatewayv1.HTTPRouteSpec]{Spec: spec})
			g.in.Services.Set(b, model.Ref(model.KindService, "a", name), input.Object[corev1.ServiceSpec]{
				Spec: &corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443, AppProtocol: new("https")}}},
			})
		}
	})
	put("a.ex")
	tls := func() (tls *model.BackendTLS) {
		g.graph.View(func(v flow.View) {
			b, _ := flow.Get(v, g.Plan.Backends, plan.BackendKey{
				Gateway: theGateway, Backend: model.BackendKey{Object: model.Ref(model.KindService, "a", "app"), Port: 443},
			})
			tls = b.TLS
		})
		return tls
	}
	if own := tls(); own == nil || own.Hostname != "a.ex" || own.Policy != policy || own.Closed != "" {
		t.Fatalf("spoken to by %+v", own)
	}
	for _, c := range put("b.ex").Collections {
		want := map[string]int{"tls-policy": 1, "tls-policies by target": 1, "tls-policies/sections": 1, "plan/backend": 1,
			"material/users": 1}
		if c.Runs > want[c.Name] && !strings.HasPrefix(c.Name, "input/") {
			t.Errorf("%s ran %d times", c.Name, c.Runs)
		}
	}
	if own := tls(); own == nil || own.Hostname != "b.ex" {
		t.Fatalf("spoken to by %+v", own)
	}
	put("b.ex", "validation.pinned")
	if own := tls(); own == nil || !strings.Contains(own.Closed, "does not know") {
		t.Errorf("with an unknown field it is spoken to by %+v", own)
	}
}
