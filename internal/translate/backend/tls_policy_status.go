package backend

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/translate/conditions"
	"cardea.dev/cardea/internal/translate/problem"
)

// TLSPolicyOutcomes are what became of BackendTLSPolicies at the proxies.
type TLSPolicyOutcomes struct {
	Gateways  *flow.Collection[model.ObjectRef, model.Gateway]
	AckStates *flow.Collection[resource.AckStateKey, resource.AckState]
	Proxied   *flow.Collection[model.ObjectRef, struct{}] // Gateways with proxies that acknowledged something
	TooLarge  *flow.Collection[model.ObjectRef, struct{}] // Gateways with resources that can't be written to files
}

// TLSPolicyReporter reports on BackendTLSPolicies.
func (u *InUse) TLSPolicyReporter(at TLSPolicyOutcomes) plan.Reporter {
	return plan.NewReporter(model.KindBackendTLSPolicy, flow.Map(u.in.BackendTLSPolicies.Collection(),
		"report/BackendTLSPolicy", tlsPolicyReports{u, u.newServiceKind(), at}.reportTLSPolicy))
}

type tlsPolicyReports struct {
	*InUse
	services serviceKind
	at       TLSPolicyOutcomes
}

func (m tlsPolicyReports) reportTLSPolicy(
	c *flow.Ctx, ref model.ObjectRef, o input.Object[gatewayv1.BackendTLSPolicySpec],
) (plan.Report[gatewayv1.PolicyStatus], bool) {
	read, _ := flow.Fetch(c, m.policies.all, ref)
	list := slices.Clone(read.Findings)
	facts := conditions.BackendTLSFacts{Generation: o.Meta.Generation, Controller: model.ControllerName}
	for i, target := range read.Targets {
		var wrong []model.Finding
		if reason, message := m.policies.targetProblem(c, m.services, ref, target); reason != "" {
			wrong = problem.ToFindings(ref, "", fmt.Sprintf("spec.targetRefs[%d]", i), []problem.Problem{{
				Condition: "Accepted", Reason: string(reason), Message: message,
			}})
			list = append(list, wrong...)
		}
		routes, _ := flow.Fetch(c, m.routes, target.Object)
		for _, route := range routes.All() {
			for _, g := range route.Gateways {
				facts.AncestorFor(g).AddFindings(wrong)
			}
		}
	}
	for i := range facts.Ancestors {
		a := &facts.Ancestors[i]
		a.Findings = slices.Concat(read.Findings, a.Findings)
		g, _ := flow.Fetch(c, m.at.Gateways, a.Gateway)
		if a.DataPlane = g.DataPlane; a.DataPlane.ReadsFiles {
			_, a.TooLarge = flow.Fetch(c, m.at.TooLarge, a.Gateway)
		} else {
			_, a.Proxied = flow.Fetch(c, m.at.Proxied, a.Gateway)
		}
		a.AckState, a.Used = flow.Fetch(c, m.at.AckStates,
			resource.AckStateKey{Gateway: a.Gateway, Origin: resource.Origin{Object: ref}})
		if a.AckState.Refused != "" {
			list = append(list, model.Finding{
				Object: ref, Condition: conditions.Programmed, Reason: "RejectedByProxy",
				Message: fmt.Sprintf("the proxy of %s rejected it: %s", a.Gateway, a.AckState.Refused),
			})
		}
	}
	return plan.Report[gatewayv1.PolicyStatus]{
		UID: o.Meta.UID, Status: conditions.BackendTLSStatus(facts), Findings: list,
	}, true
}
