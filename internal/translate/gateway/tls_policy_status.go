package gateway

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
)

// tlsPolicyReports reports on BackendTLSPolicies.
type tlsPolicyReports struct {
	*Meaning
	services  serviceKind
	standings *flow.Collection[resource.StandingKey, resource.Standing]
	proxied   *flow.Collection[model.ObjectRef, struct{}]
	tooLarge  *flow.Collection[model.ObjectRef, struct{}]
}

func (m tlsPolicyReports) report(
	c *flow.Ctx, ref model.ObjectRef, o input.Object[gatewayv1.BackendTLSPolicySpec],
) (plan.Report[gatewayv1.PolicyStatus], bool) {
	read, _ := flow.Fetch(c, m.tlsPolicies.all, ref)
	list := slices.Clone(read.Findings)
	facts := conditions.BackendTLSFacts{Generation: o.Meta.Generation, Controller: model.ControllerName}
	for i, target := range read.Targets {
		var wrong []model.Finding
		if reason, message := m.tlsPolicies.wrong(c, m.services, ref, target); reason != "" {
			wrong = findings(ref, "", fmt.Sprintf("spec.targetRefs[%d]", i), []problem{{
				condition: "Accepted", reason: string(reason), message: message,
			}})
			list = append(list, wrong...)
		}
		routes, _ := flow.Fetch(c, m.naming, target.Object)
		for _, route := range routes.All() {
			for _, g := range route.Gateways {
				facts.At(g).Add(wrong)
			}
		}
	}
	for i := range facts.Ancestors {
		a := &facts.Ancestors[i]
		a.Findings = slices.Concat(read.Findings, a.Findings)
		g, _ := flow.Fetch(c, m.Plan.Gateways, a.Gateway)
		if a.DataPlane = g.DataPlane; a.DataPlane.ReadsFiles() {
			_, a.TooLarge = flow.Fetch(c, m.tooLarge, a.Gateway)
		} else {
			_, a.Proxied = flow.Fetch(c, m.proxied, a.Gateway)
		}
		a.Standing, a.Used = flow.Fetch(c, m.standings,
			resource.StandingKey{Gateway: a.Gateway, Origin: resource.Origin{Object: ref}})
		if a.Standing.Refused != "" {
			list = append(list, model.Finding{
				Object: ref, Condition: conditions.Programmed, Reason: "RejectedByProxy",
				Message: fmt.Sprintf("the proxy of %s refused it: %s", a.Gateway, a.Standing.Refused),
			})
		}
	}
	return plan.Report[gatewayv1.PolicyStatus]{
		UID: o.Meta.UID, Status: conditions.BackendTLS(facts), Findings: list,
	}, true
}
