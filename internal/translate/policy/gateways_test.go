package policy

import (
	"fmt"
	"testing"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// TestManyGateways: a policy of a class holds at each of its Gateways, however many of them have room
// in its status; the older ones are told of.
func TestManyGateways(t *testing.T) {
	w := newTester(t)
	const many = 20
	w.apply(func(b *flow.Batch) {
		class := model.Ref(model.KindGatewayClass, "", "cardea")
		w.in.GatewayClasses.Set(b, class, input.Object[gatewayv1.GatewayClassSpec]{Spec: new(gatewayv1.GatewayClassSpec)})
		for i := range many {
			ref := model.Ref(model.KindGateway, "infra", fmt.Sprintf("g%02d", i))
			w.gateways.Set(b, ref, model.Gateway{Ref: ref, Accepted: true, DataPlane: testDataPlane, Class: class})
			w.in.Gateways.Set(b, ref, input.Object[gatewayv1.GatewaySpec]{Spec: new(gatewayv1.GatewaySpec),
				Meta: model.Meta{Created: time.Unix(int64(1000-i), 0)}})
		}
	})
	w.policy(model.KindSecurityPolicy, "infra/all", `{"targetRefs": [{"group": "gateway.networking.k8s.io",
		"kind": "GatewayClass", "name": "cardea"}], "jwt": {"issuer": "corp"}}`)
	w.g.View(func(v flow.View) {
		for i := range many {
			ref := model.Ref(model.KindGateway, "infra", fmt.Sprintf("g%02d", i))
			if s, _ := flow.Get[model.ObjectRef, []plan.Setting](v, w.m.Settings.Gateways, ref); len(s) != 1 {
				t.Errorf("%s has the settings %v, want one", ref, s)
			}
		}
	})
}
