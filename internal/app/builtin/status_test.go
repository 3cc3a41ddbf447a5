package builtin

import (
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/policycrd"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/translate/conditions"
)

// TestConditionsAreDeclared: each kind of policies declares the conditions that are written for it; a status with any
// other one is not written at all.
func TestConditionsAreDeclared(t *testing.T) {
	declared, err := policycrd.FromPlugins(Plugins())
	if err != nil {
		t.Fatal(err)
	}
	edge := conditions.PolicyAncestor{
		Object: model.Ref(model.KindGateway, "infra", "edge"), AckState: resource.AckState{Acknowledged: true},
	}
	for _, kind := range declared {
		status := conditions.PolicyStatus(conditions.PolicyFacts{
			Foreign: kind.CountsAs != nil, Ancestors: []conditions.PolicyAncestor{edge},
		})
		for _, c := range status.Ancestors[0].Conditions {
			own := strings.HasPrefix(c.Type, "cardea.dev/")
			if !own && !slices.Contains(kind.Declaration.Status.InEntry, c.Type) {
				t.Errorf("%s does not declare its condition %s", kind.Name, c.Type)
			}
		}
	}
}
