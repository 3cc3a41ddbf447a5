package status

import (
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/translate/conditions"
)

// TestEveryConditionIsListed: what the meaning says, whatever it is, can be written and taken away again.
func TestEveryConditionIsListed(t *testing.T) {
	findings := []model.Finding{
		{Condition: "Accepted", Reason: "Invalid"}, {Condition: "ResolvedRefs", Reason: "InvalidKind"},
		{Condition: "Conflicted", Reason: "HostnameConflict"}, {Condition: "Programmed", Reason: "Pending"},
		{Drops: true, Section: "a"},
	}
	for _, c := range []struct {
		form *statusLayout
		said any
		most int // conditions
	}{
		{formOf(model.KindGatewayClass), conditions.GatewayClassStatus(conditions.GatewayClassFacts{Findings: findings}), 2},
		{formOf(model.KindGateway), conditions.GatewayStatus(conditions.GatewayFacts{Findings: findings,
			Listeners: []conditions.ListenerFacts{
				{Section: "http", Findings: findings, Overlaps: true},
				{Section: "other", Serves: true, AckState: resource.AckState{Refused: "no"}},
			}}), 5},
		{formOf(model.KindHTTPRoute), gatewayv1.HTTPRouteStatus{RouteStatus: conditions.RouteStatus(conditions.RouteFacts{
			Controller: model.ControllerName, Rules: 2, Findings: findings,
			Parents: []conditions.RouteParent{{Attached: true, AckStates: []resource.AckState{{Acknowledged: true}}}},
		})}, 4},
		{formOf(model.KindXBackend), conditions.BackendStatus(conditions.BackendFacts{
			Controller: model.ControllerName, Findings: findings,
			Gateways: []model.ObjectRef{model.Ref(model.KindGateway, "a", "g")},
		}), 2},
	} {
		p, err := c.form.parseReport(mustEncode(c.said), model.ControllerName)
		if err != nil {
			t.Errorf("%T: %v", c.said, err)
		}
		most := len(p.conditions)
		for _, e := range p.entries {
			most = max(most, len(e.conditions))
		}
		if most != c.most {
			t.Errorf("%T: %d conditions, want %d: this test does not see all of them", c.said, most, c.most)
		}
	}
}
