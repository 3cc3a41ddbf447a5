package policy

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// FindFailover is who gets the requests of a pool without endpoints, and the policy that says so; not stated: nobody.
func (s *Store) FindFailover(
	c *flow.Ctx, pool model.ObjectRef,
) (to gatewayv1.BackendObjectReference, by model.ObjectRef, stated bool) {
	for _, kind := range s.Kinds {
		for _, f := range kind.Features {
			if f.Effect != extend.FailsOver {
				continue
			}
			own := statementsAt(s.policiesOn(c, pool, kind.Kind), "", LevelBackend, f.Name)
			e := mergeStatements(f.Name, f.merge, []statements{own})
			for _, ref := range f.Refers([]byte(e.JSON)) {
				if ref.Backend != nil {
					return *ref.Backend, e.attributedPolicy(), true
				}
			}
		}
	}
	return to, by, false
}
