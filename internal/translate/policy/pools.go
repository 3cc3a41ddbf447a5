package policy

import (
	"fmt"
	"iter"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/model"
)

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
func (p *policy) kindsOfTargets() iter.Seq[model.Kind] {
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
