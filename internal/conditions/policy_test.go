package conditions

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		const more = "; it applies at 4 more Gateways, too, which have no entry here: cardea explain of the policy tells " +
			"where"
		if told := strings.HasSuffix(c.Message, more); told != (i == 15) {
			t.Errorf("entry %d: %s: %q", i, c.Type, c.Message)
		}
	}
}

// TestPolicyIsProgrammedWhenProxiesHaveIt is complaint 2: that a policy was accepted and merged says nothing of
// proxies. Programmed is what they have acknowledged.
func TestPolicyIsProgrammedWhenProxiesHaveIt(t *testing.T) {
	refused, lost := resource.Standing{Refused: "no such cluster"}, []string{"jwt: superseded"}
	for _, c := range []struct {
		standing resource.Standing
		lost     []string
		want     string
	}{
		{standing: resource.Standing{}, want: "False Reconciling"},
		{standing: refused, want: "False RejectedByProxy"},
		{standing: refused, lost: lost, want: "False RejectedByProxy"},
		{standing: resource.Standing{Acknowledged: true}, lost: lost, want: "True PartiallyProgrammed"},
		{standing: resource.Standing{Acknowledged: true}, want: "True Programmed"},
	} {
		status := Policy(PolicyFacts{Lost: c.lost, Ancestors: []PolicyAncestor{
			{Object: model.Ref(model.KindGateway, "infra", "edge"), Standing: c.standing},
		}})
		for _, got := range status.Ancestors[0].Conditions {
			if got.Type == Programmed && string(got.Status)+" "+got.Reason != c.want {
				t.Errorf("%+v: %s %s, want %s", c.standing, got.Status, got.Reason, c.want)
			}
		}
		programmed := func(c metav1.Condition) bool { return c.Type == Programmed }
		if !slices.ContainsFunc(status.Ancestors[0].Conditions, programmed) {
			t.Errorf("%+v: no condition %s", c.standing, Programmed)
		}
	}
}
