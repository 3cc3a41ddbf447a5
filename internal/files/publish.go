package files

import (
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
)

// edit is a change of one object in its source.
type edit struct {
	ref    model.ObjectRef
	object *object // nil deletes
}

// publish writes edits into the sources of their kinds.
func publish(b *flow.Batch, s *input.Sources, edits []edit) {
	for _, e := range edits {
		if e.object == nil {
			s.Of(e.ref.Kind()).Delete(b, e.ref)
		} else {
			s.Of(e.ref.Kind()).Set(b, e.ref, e.object.meta(), e.object.Spec)
		}
	}
}
