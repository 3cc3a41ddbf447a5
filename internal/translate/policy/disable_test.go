package policy

import (
	"fmt"
	"slices"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// TestDisable: a route turns off what its Gateway states, whichever feature it is. What a rule states
// itself stays, and nothing of the Gateway with it.
func TestDisable(t *testing.T) {
	for _, kind := range []model.Kind{model.KindTrafficPolicy, model.KindSecurityPolicy} {
		w := newTester(t)
		k, _ := w.m.Store.FindKind(kind)
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
