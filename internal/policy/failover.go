package policy

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
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

// ofBackend tells whether the feature can hold for a backend.
func (f *Feature) ofBackend(object model.ObjectRef) bool {
	return f.Levels.Has(extend.AtBackend) || f.Levels.Has(extend.AtPool) && object.Kind() == model.KindInferencePool
}

// notOfPools are the findings on features that can be stated for InferencePools only, and are for others.
func (s *Store) notOfPools(ref model.ObjectRef, p *policy) (list []model.Finding) {
	kind, _ := s.Of(ref.Kind())
	for _, f := range kind.Features {
		if !f.Levels.Has(extend.AtPool) || !p.states(f.Name) {
			continue
		}
		for other := range p.kindsOfTargets() {
			if other != model.KindInferencePool {
				list = append(list, model.Finding{
					Object: ref, Condition: "Accepted", Reason: "Invalid", Field: fieldOf(f.Name, ""),
					Message: fmt.Sprintf("it counts for an InferencePool, and not for a %s; put it into a policy that targets pools "+
						"only", other),
				})
				break
			}
		}
	}
	return list
}

// kindsOfTargets goes over the kinds of objects that a policy targets.
func (p *policy) kindsOfTargets() func(yield func(model.Kind) bool) {
	return func(yield func(model.Kind) bool) {
		for _, t := range p.Targets {
			if !yield(t.Object.Kind()) {
				return
			}
		}
		for _, s := range p.Selectors {
			if !yield(s.Kind) {
				return
			}
		}
	}
}
