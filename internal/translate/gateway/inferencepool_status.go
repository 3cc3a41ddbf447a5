package gateway

import (
	"slices"

	inferencev1 "cardea.dev/cardea/api/inference/v1"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/conditions"
)

// poolReports reports on InferencePools.
type poolReports struct{ usedBackends }

func (m poolReports) report(
	c *flow.Ctx, ref model.ObjectRef, o input.Object[inferencev1.InferencePoolSpec],
) (plan.Report[inferencev1.InferencePoolStatus], bool) {
	read, _ := flow.Fetch(c, m.pools, ref)
	use := m.use(c, ref)
	findings := slices.Concat(read.Findings, m.unreached(c, ref, read), use.front("spec.selector"), use.Findings)
	facts := conditions.PoolFacts{Generation: o.Meta.Generation, Findings: findings}
	instead, _ := flow.Fetch(c, m.failovers, ref)
	facts.Instead = instead.words()
	for _, g := range use.Gateways {
		facts.Parents = append(facts.Parents, conditions.PoolParent{Gateway: g, Served: true, Refused: use.Refused[g]})
	}
	for _, g := range use.Denied {
		facts.Parents = append(facts.Parents, conditions.PoolParent{Gateway: g})
	}
	slices.SortFunc(facts.Parents, func(a, b conditions.PoolParent) int { return a.Gateway.Compare(b.Gateway) })
	return plan.Report[inferencev1.InferencePoolStatus]{
		UID: o.Meta.UID, Status: conditions.Pool(facts), Findings: findings, Tentative: use.Selected && !use.Looked,
	}, true
}
