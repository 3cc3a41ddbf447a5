package policy

import (
	"fmt"
	"iter"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// ofBackend tells whether a feature can hold for a backend.
func (s *Store) ofBackend(f *Feature, object model.ObjectRef) bool {
	return f.Levels.Has(extend.AtBackend) || f.Levels.Has(extend.AtPool) && s.backend(object.Kind()).Can(kind.ForPool)
}

// notOfPools are the findings on features that can be stated for InferencePools only, and are for others.
func (s *Store) notOfPools(ref model.ObjectRef, p *policy) (list []model.Finding) {
	of, _ := s.FindKind(ref.Kind())
	for _, f := range of.Features {
		if !f.Levels.Has(extend.AtPool) || !p.statesFeature(f.Name) {
			continue
		}
		for other := range p.kindsOfTargets() {
			if !s.backend(other).Can(kind.ForPool) {
				list = append(list, model.Finding{
					Object: ref, Condition: "Accepted", Reason: "Invalid", Field: fieldOf(f.Name, ""),
					Message: fmt.Sprintf("it has an effect on an InferencePool, but not on a %s; put it into a policy that "+
						"targets pools only", other),
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
