package policy

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// TestDisable is complaint 5: a route turns off what its Gateway states, whichever feature it is. What a rule states
// itself stays, and nothing of the Gateway with it.
func TestDisable(t *testing.T) {
	for _, kind := range []model.Kind{model.KindTrafficPolicy, model.KindSecurityPolicy} {
		w := newTester(t)
		k, _ := w.m.Store.Of(kind)
		for _, f := range k.Features {
			w.policy(kind, "infra/"+f.Name, fmt.Sprintf(`{%s"%s": {"issuer": "corp"}}`, onEdge, f.Name))
			w.policy(kind, "shop/no-"+f.Name, fmt.Sprintf(`{%s"disable": ["%s"]}`, onWeb, f.Name))
		}
		w.g.View(func(v flow.View) {
			s, _ := flow.Get(v, w.m.Settings.Routes, web)
			for _, rule := range s.Rules {
				if len(rule.Own) != len(k.Features) {
					t.Errorf("%s: rule %s turns off %d of %d features", kind, rule.Rule.Name, len(rule.Own), len(k.Features))
				}
				var on []string
				for _, setting := range rule.Own {
					if !setting.Off {
						on = append(on, setting.Config.Type)
					}
				}
				var want []string
				if kind == model.KindTrafficPolicy && rule.Rule.Name == "orders" {
					want = []string{`{"request":"60s"}`}
				}
				if !slices.Equal(on, want) {
					t.Errorf("%s: rule %s has %q, want %q", kind, rule.Rule.Name, on, want)
				}
			}
			if len(s.Rules) != 2 {
				t.Errorf("%s: %d rules turn something off, want 2", kind, len(s.Rules))
			}
		})
	}
}

// TestManyGateways is complaint 13: a policy of a class holds at each of its Gateways, however many of them have room
// in its status; the older ones are told of.
func TestManyGateways(t *testing.T) {
	w := newTester(t)
	const many = 20
	w.apply(func(b *flow.Batch) {
		class := model.Ref(model.KindGatewayClass, "", "cardea")
		w.in.GatewayClasses.Set(b, class, input.Object[gatewayv1.GatewayClassSpec]{Spec: new(gatewayv1.GatewayClassSpec)})
		for i := range many {
			ref := model.Ref(model.KindGateway, "infra", fmt.Sprintf("g%02d", i))
			w.gateways.Set(b, ref, model.Gateway{Ref: ref, Accepted: true, DataPlane: model.DataPlaneEnvoy, Class: class})
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

// TestLargeAtManyRules: what is large and stands in the routes of many rules is warned of.
func TestLargeAtManyRules(t *testing.T) {
	of := model.Ref(model.KindTrafficPolicy, "shop", "pages")
	piece := func(size int) Piece {
		return Piece{
			Effective: Effective{Feature: "errorResponses", Fields: []Field{{From: Source{Policy: of, Level: LevelRoute}}}},
			Rendered:  plan.Rendered{Settings: []plan.Setting{{Config: plan.Packed{Value: make([]byte, size)}}}},
		}
	}
	if _, is := largeOf(piece(4 << 10)); is {
		t.Error("4 KiB are said to be large")
	}
	l, is := largeOf(piece(5000))
	if !is || l.Policy != of {
		t.Fatalf("5000 bytes: %+v, %t", l, is)
	}
	if list := repeated(of, map[large]int{l: 15}); len(list) > 0 {
		t.Errorf("at 15 rules: %v", list)
	}
	if list := repeated(of, map[large]int{l: 16}); len(list) != 1 || list[0].Field != "spec.errorResponses" {
		t.Errorf("at 16 rules: %v", list)
	}
}
