package conditions

import (
	"fmt"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resource"
)

// TestPolicyAtMoreGatewaysThanFit is complaint 13: the status of a policy is cut and counts what was left out, in the
// last entry.
func TestPolicyAtMoreGatewaysThanFit(t *testing.T) {
	facts := PolicyFacts{Generation: 1, Controller: model.ControllerName}
	for i := range 20 {
		facts.Ancestors = append(facts.Ancestors, PolicyAncestor{
			Object:   model.Ref(model.KindGateway, "infra", fmt.Sprintf("g%02d", i)),
			Standing: resource.Standing{Acknowledged: true},
		})
	}
	status := Policy(facts)
	if len(status.Ancestors) != 16 {
		t.Fatalf("%d entries, want 16", len(status.Ancestors))
	}
	for i, a := range status.Ancestors {
		if want := fmt.Sprintf("g%02d", i); string(a.AncestorRef.Name) != want {
			t.Errorf("entry %d is for %s, want %s", i, a.AncestorRef.Name, want)
		}
		c := a.Conditions[len(a.Conditions)-1]
		if told := strings.HasSuffix(c.Message, "and 4 more Gateways: see their conditions"); told != (i == 15) {
			t.Errorf("entry %d: %s: %q", i, c.Type, c.Message)
		}
	}
}
