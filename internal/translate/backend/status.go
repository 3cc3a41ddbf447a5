package backend

import (
	"fmt"
	"slices"

	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	inferencev1 "cardea.dev/cardea/api/inference/v1"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/translate/conditions"
)

// Uses finds what the status of backends has to tell of their use, whatever their kind.
type Uses struct {
	*InUse
	refused *flow.Collection[resource.AckStateKey, resource.Refusal]
}

// Use is where a backend is used, and what became of it there.
type Use struct {
	ref      model.ObjectRef
	Gateways []model.ObjectRef          // where routes that name it serve; sorted, each once
	Denied   []model.ObjectRef          // that accepted none of the routes that name it; the same
	Refused  map[model.ObjectRef]string // by the proxies of a Gateway: their words
	Selected bool                       // its pods have to be found
	Looked   bool                       // and whoever finds them has begun to
	Front    model.Front                // what became of that
	Findings []model.Finding            // about Refused
}

// Use is where a backend is used, and what became of it there.
func (m Uses) Use(c *flow.Ctx, ref model.ObjectRef) Use {
	u := Use{ref: ref}
	_, u.Selected = flow.Fetch(c, m.PodSelectors, ref)
	u.Front, u.Looked = flow.Fetch(c, m.in.Fronts.Collection(), ref)
	routes, _ := flow.Fetch(c, m.routes, ref)
	for _, route := range routes.All() {
		u.Gateways, u.Denied = append(u.Gateways, route.Gateways...), append(u.Denied, route.Denied...)
	}
	slices.SortFunc(u.Gateways, model.ObjectRef.Compare)
	u.Gateways = slices.Compact(u.Gateways)
	slices.SortFunc(u.Denied, model.ObjectRef.Compare)
	u.Denied = slices.DeleteFunc(slices.Compact(u.Denied), func(g model.ObjectRef) bool {
		return slices.Contains(u.Gateways, g)
	})
	for _, g := range u.Gateways {
		said, refused := flow.Fetch(c, m.refused, resource.AckStateKey{Gateway: g, Origin: resource.Origin{Object: ref}})
		if !refused {
			continue
		}
		if u.Refused == nil {
			u.Refused = map[model.ObjectRef]string{}
		}
		u.Refused[g] = said.Message
		u.Findings = append(u.Findings, model.Finding{
			Object: ref, Condition: conditions.Programmed, Reason: "RejectedByProxy",
			Message: fmt.Sprintf("the proxy of %s rejected it: %s", g, said.Message),
		})
	}
	return u
}

// NoPods tells that its pods, which a field selects, can't be found.
func (u Use) NoPods(field string) []model.Finding {
	if u.Front.Reason == "" {
		return nil
	}
	return []model.Finding{{
		Object: u.ref, Condition: "ResolvedRefs", Reason: u.Front.Reason, Field: field, Message: u.Front.Message,
	}}
}

// Reporters are those of each kind of backends that reports. refused are the backends that proxies refused.
func (u *InUse) Reporters(
	refused *flow.Collection[resource.AckStateKey, resource.Refusal],
) (list []plan.Reporter) {
	for _, k := range u.in.Catalog.Backends() {
		if reporting, is := u.kinds[k.Kind].meaning.(Reporting); is {
			list = append(list, reporting.Reports(Uses{u, refused}))
		}
	}
	return list
}

// xbackendReports reports on XBackends.
type xbackendReports struct{ Uses }

func (m xbackendReports) reportXBackend(
	c *flow.Ctx, ref model.ObjectRef, o input.Object[xgatewayv1alpha1.BackendSpec],
) (plan.Report[xgatewayv1alpha1.BackendStatus], bool) {
	read, _ := flow.Fetch(c, m.xbackends, ref)
	use := m.Use(c, ref)
	findings := slices.Concat(read.Findings, use.NoPods("spec.endpointSelector"))
	facts := conditions.BackendFacts{
		Generation: o.Meta.Generation, Controller: model.ControllerName, Findings: findings,
		Gateways: use.Gateways, Refused: use.Refused,
	}
	return plan.Report[xgatewayv1alpha1.BackendStatus]{
		UID: o.Meta.UID, Status: conditions.BackendStatus(facts), Findings: slices.Concat(findings, use.Findings),
		Tentative: use.Selected && !use.Looked,
	}, true
}

// poolReports reports on InferencePools.
type poolReports struct{ Uses }

func (m poolReports) reportPool(
	c *flow.Ctx, ref model.ObjectRef, o input.Object[inferencev1.InferencePoolSpec],
) (plan.Report[inferencev1.InferencePoolStatus], bool) {
	read, _ := flow.Fetch(c, m.Pools, ref)
	use := m.Use(c, ref)
	findings := slices.Concat(read.Findings, m.unreachedFindings(c, ref, read), use.NoPods("spec.selector"), use.Findings)
	facts := conditions.PoolFacts{Generation: o.Meta.Generation, Findings: findings}
	instead, _ := flow.Fetch(c, m.failovers, ref)
	facts.Fallback = instead.describe()
	for _, g := range use.Gateways {
		facts.Parents = append(facts.Parents, conditions.PoolParent{Gateway: g, Served: true, Refused: use.Refused[g]})
	}
	for _, g := range use.Denied {
		facts.Parents = append(facts.Parents, conditions.PoolParent{Gateway: g})
	}
	slices.SortFunc(facts.Parents, func(a, b conditions.PoolParent) int { return a.Gateway.Compare(b.Gateway) })
	return plan.Report[inferencev1.InferencePoolStatus]{
		UID: o.Meta.UID, Status: conditions.PoolStatus(facts), Findings: findings, Tentative: use.Selected && !use.Looked,
	}, true
}
