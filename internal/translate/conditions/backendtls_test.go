package conditions

import (
	"fmt"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// TestPolicyAtManyGateways: no more entries than the API lets there be, by GatewayStatus; the last one says how many
// more there are.
func TestPolicyAtManyGateways(t *testing.T) {
	facts := BackendTLSFacts{Generation: 3, Controller: model.ControllerName}
	wrong := []model.Finding{{Condition: "Accepted", Reason: "Conflicted", Message: "no"}}
	for _, i := range []int{17, 3, 12, 3, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 18} {
		facts.AncestorFor(model.Ref(model.KindGateway, "shop", fmt.Sprintf("g%02d", i))).AddFindings(wrong[:i%2])
	}
	if a := facts.AncestorFor(model.Ref(model.KindGateway, "shop", "g03")); len(a.Findings) != 1 {
		t.Errorf("a finding is there %d times", len(a.Findings))
	}
	list := BackendTLSStatus(facts).Ancestors
	if len(list) != 16 {
		t.Fatalf("%d entries", len(list))
	}
	for i, a := range list {
		name := fmt.Sprintf("g%02d", i+1)
		odd := (i+1)%2 == 1
		accepted := a.Conditions[0]
		if ref := a.AncestorRef; string(ref.Name) != name || *ref.Kind != "Gateway" ||
			a.ControllerName != model.ControllerName || (accepted.Reason == "Conflicted") != odd ||
			accepted.ObservedGeneration != 3 {
			t.Errorf("entry %d is %+v", i, a)
		}
		const more = "; it applies at 2 more Gateways, too"
		if last := a.Conditions[2]; last.Type != Programmed || strings.HasSuffix(last.Message, more) != (i == 15) {
			t.Errorf("entry %d: %+v", i, last)
		}
	}
}

func TestPolicyProgrammed(t *testing.T) {
	done := resource.AckState{Acknowledged: true}
	refused := resource.AckState{Refused: "bad"}
	wrong := []model.Finding{{Condition: "Accepted", Reason: "NoValidCACertificate", Message: "no"}}
	for want, a := range map[string]BackendTLSAncestor{
		"Programmed: acknowledged by the proxies":           {Used: true, Proxied: true, AckState: done},
		"Programmed: written to the files":                  {Used: true, DataPlane: files, AckState: done},
		"Pending: not written":                              {Used: true, DataPlane: files},
		"TooLarge: not written":                             {Used: true, DataPlane: files, TooLarge: true},
		"Pending: no connected proxy":                       {Used: true, AckState: done},
		"Pending: the proxies have not acknowledged it yet": {Used: true, Proxied: true},
		"RejectedByProxy: bad":                              {Used: true, Proxied: true, AckState: refused},
		"NotServed: the policy is not used":                 {Proxied: true},
		"Invalid: a part of the policy is not in effect":    {Used: true, Proxied: true, AckState: done, Findings: wrong},
	} {
		l := BackendTLSStatus(BackendTLSFacts{Ancestors: []BackendTLSAncestor{a}}).Ancestors[0].Conditions[2]
		if got := l.Reason + ": " + l.Message; !strings.HasPrefix(got, want) ||
			(l.Status == "True") != (l.Reason == "Programmed") {
			t.Errorf("%s %s, want %s", l.Status, got, want)
		}
	}
}
