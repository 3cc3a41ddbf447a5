package policy

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// Failover is who gets the requests of a pool without endpoints, and the policy that says so; not stated: nobody.
func (s *Store) Failover(
	c *flow.Ctx, pool model.ObjectRef,
) (to gatewayv1.BackendObjectReference, by model.ObjectRef, stated bool) {
	for _, kind := range s.Kinds {
		for _, f := range kind.Features {
			if !f.Failover {
				continue
			}
			own := at(s.on(c, pool, kind.Kind), "", LevelBackend, f.Name)
			e := effective(f.Name, f.merge, []statements{own})
			for _, ref := range f.Refers([]byte(e.JSON)) {
				if ref.Backend != nil {
					return *ref.Backend, e.by(), true
				}
			}
		}
	}
	return to, by, false
}
