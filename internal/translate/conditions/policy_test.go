package conditions

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// TestPolicyAtMoreGatewaysThanFit: the status of a policy is cut and counts what was left out, in the
// last entry.
func TestPolicyAtMoreGatewaysThanFit(t *testing.T) {
	facts := PolicyFacts{Generation: 1, Controller: model.ControllerName}
	for i := range 20 {
		facts.Ancestors = append(facts.Ancestors, PolicyAncestor{
			Object:   model.Ref(model.KindGateway, "infra", fmt.Sprintf("g%02d", i)),
			AckState: resource.AckState{Acknowledged: true},
		})
	}
	status := PolicyStatus(facts)
	if len(status.Ancestors) != 16 {
		t.Fatalf("%d entries, want 16", len(status.Ancestors))
	}
	for i, a := range status.Ancestors {
		if want := fmt.Sprintf("g%02d", i); string(a.AncestorRef.Name) != want {
			t.Errorf("entry %d is for %s, want %s", i, a.AncestorRef.Name, want)
		}
		c := a.Conditions[len(a.Conditions)-1]
		const more = "; it also applies at 4 more Gateways without an entry here: `cardea explain` of the policy lists them"
		if told := strings.HasSuffix(c.Message, more); told != (i == 15) {
			t.Errorf("entry %d: %s: %q", i, c.Type, c.Message)
		}
	}
}

// TestPolicyIsProgrammedWhenProxiesHaveIt: that a policy was accepted and merged says nothing of
// proxies. Programmed is what they have acknowledged.
func TestPolicyIsProgrammedWhenProxiesHaveIt(t *testing.T) {
	refused, lost := resource.AckState{Refused: "no such cluster"}, []string{"jwt: superseded"}
	for _, c := range []struct {
		standing resource.AckState
		lost     []string
		want     string
	}{
		{standing: resource.AckState{}, want: "False Reconciling"},
		{standing: refused, want: "False RejectedByProxy"},
		{standing: refused, lost: lost, want: "False RejectedByProxy"},
		{standing: resource.AckState{Acknowledged: true}, lost: lost, want: "True PartiallyProgrammed"},
		{standing: resource.AckState{Acknowledged: true}, want: "True Programmed"},
	} {
		status := PolicyStatus(PolicyFacts{Superseded: c.lost, Ancestors: []PolicyAncestor{
			{Object: model.Ref(model.KindGateway, "infra", "edge"), AckState: c.standing},
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

// TestPolicySaysItsWarnings: what is warned of stands in Accepted, which stays true; keys that are not known yet stand
// in ResolvedRefs, and errors in place of it all.
func TestPolicySaysItsWarnings(t *testing.T) {
	const warned = "spec.rules[a]: no client can begin"
	warning := model.Finding{Severity: model.Warning, Field: "spec.rules[a]", Message: "no client can begin"}
	pending := model.Finding{
		Severity: model.Warning, Condition: "ResolvedRefs", Reason: KeySetPending, Message: "wait",
	}
	wrong := model.Finding{Condition: "Accepted", Reason: "Invalid", Message: "wrong"}
	for _, c := range []struct {
		findings []model.Finding
		want     string
	}{
		{nil, "True: the policy is accepted"},
		{[]model.Finding{warning}, "True: the policy is accepted; " + warned},
		{[]model.Finding{warning, pending, warning}, "True: the policy is accepted; " + warned + "; " + warned},
		{[]model.Finding{pending}, "True: the policy is accepted"},
		{[]model.Finding{warning, wrong}, "False: wrong"},
	} {
		status := PolicyStatus(PolicyFacts{Findings: c.findings, Ancestors: []PolicyAncestor{
			{Object: model.Ref(model.KindGateway, "infra", "edge")},
		}})
		accepted := status.Ancestors[0].Conditions[0]
		if got := fmt.Sprintf("%s: %s", accepted.Status, accepted.Message); accepted.Type != "Accepted" || got != c.want {
			t.Errorf("%v: %s %s, want %s", c.findings, accepted.Type, got, c.want)
		}
	}
}

// TestForeignPolicyIsProgrammed: a policy of another API has the condition by the name of GEP-713, too, with the same
// words, for each GatewayStatus; a policy of Cardea has not, and nothing is said where the target is missing.
func TestForeignPolicyIsProgrammed(t *testing.T) {
	edge := PolicyAncestor{
		Object: model.Ref(model.KindGateway, "infra", "edge"), AckState: resource.AckState{Acknowledged: true},
	}
	waits := PolicyAncestor{Object: model.Ref(model.KindGateway, "infra", "waits")}
	missing := PolicyAncestor{Object: model.Ref(model.KindGateway, "infra", "missing"), Missing: "it does not exist"}
	for foreign, want := range map[bool]string{
		true: "edge True Programmed 7, waits False Reconciling 7", false: "",
	} {
		status := PolicyStatus(PolicyFacts{
			Generation: 7, Foreign: foreign, Ancestors: []PolicyAncestor{edge, waits, missing},
		})
		var got []string
		for _, a := range status.Ancestors {
			for _, c := range a.Conditions {
				if c.Type == "Programmed" {
					got = append(got, fmt.Sprintf("%s %s %s %d", a.AncestorRef.Name, c.Status, c.Reason, c.ObservedGeneration))
				}
			}
		}
		if all := strings.Join(got, ", "); all != want {
			t.Errorf("foreign %v: %s, want %s", foreign, all, want)
		}
	}
}
