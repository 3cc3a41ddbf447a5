package gateway

import (
	"fmt"
	"slices"

	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/conditions"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resource"
)

// xbackendReports reports on XBackends.
type xbackendReports struct {
	*Meaning
	refused *flow.Collection[resource.StandingKey, resource.Refusal]
}

func (m xbackendReports) report(
	c *flow.Ctx, ref model.ObjectRef, o input.Object[xgatewayv1alpha1.BackendSpec],
) (plan.Report[xgatewayv1alpha1.BackendStatus], bool) {
	read, _ := flow.Fetch(c, m.xbackends, ref)
	findings := read.Findings
	_, selected := flow.Fetch(c, m.Plan.Selections, ref)
	front, looked := flow.Fetch(c, m.in.Fronts.Collection(), ref)
	if front.Reason != "" {
		findings = append(findings[:len(findings):len(findings)], model.Finding{
			Object: ref, Condition: "ResolvedRefs", Reason: front.Reason, Field: "spec.endpointSelector", Message: front.Message,
		})
	}
	facts := conditions.BackendFacts{Generation: o.Meta.Generation, Controller: model.ControllerName, Findings: findings}
	routes, _ := flow.Fetch(c, m.naming, ref)
	for _, route := range routes.All() {
		facts.Gateways = append(facts.Gateways, route.Gateways...)
	}
	slices.SortFunc(facts.Gateways, model.ObjectRef.Compare)
	facts.Gateways = slices.Compact(facts.Gateways)
	findings = findings[:len(findings):len(findings)]
	for _, g := range facts.Gateways {
		said, refused := flow.Fetch(c, m.refused, resource.StandingKey{Gateway: g, Origin: resource.Origin{Object: ref}})
		if !refused {
			continue
		}
		if facts.Refused == nil {
			facts.Refused = map[model.ObjectRef]string{}
		}
		facts.Refused[g] = said.Message
		findings = append(findings, model.Finding{
			Object: ref, Condition: conditions.Programmed, Reason: "RejectedByProxy",
			Message: fmt.Sprintf("the proxy of %s refused it: %s", g, said.Message),
		})
	}
	return plan.Report[xgatewayv1alpha1.BackendStatus]{
		UID: o.Meta.UID, Status: conditions.Backend(facts), Findings: findings, Tentative: selected && !looked,
	}, true
}
