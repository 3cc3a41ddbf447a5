package gateway

import (
	"slices"

	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/conditions"
)

// xbackendReports reports on XBackends.
type xbackendReports struct{ usedBackends }

func (m xbackendReports) report(
	c *flow.Ctx, ref model.ObjectRef, o input.Object[xgatewayv1alpha1.BackendSpec],
) (plan.Report[xgatewayv1alpha1.BackendStatus], bool) {
	read, _ := flow.Fetch(c, m.xbackends, ref)
	use := m.use(c, ref)
	findings := slices.Concat(read.Findings, use.front("spec.endpointSelector"))
	facts := conditions.BackendFacts{
		Generation: o.Meta.Generation, Controller: model.ControllerName, Findings: findings,
		Gateways: use.Gateways, Refused: use.Refused,
	}
	return plan.Report[xgatewayv1alpha1.BackendStatus]{
		UID: o.Meta.UID, Status: conditions.Backend(facts), Findings: slices.Concat(findings, use.Findings),
		Tentative: use.Selected && !use.Looked,
	}, true
}
