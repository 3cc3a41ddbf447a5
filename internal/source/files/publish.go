package files

import (
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// edit is a change of one object in its source.
type edit struct {
	ref    model.ObjectRef
	object *object // nil deletes
	last   *object // what is deleted
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

// change makes a source that has the one map have the other.
func change[K comparable, V any](
	b *flow.Batch, source *flow.Source[K, V], before, now map[K]V, equal func(a, b V) bool,
) {
	for key, value := range now {
		if was, had := before[key]; !had || !equal(was, value) {
			source.Set(b, key, value)
		}
	}
	for key := range before {
		if _, has := now[key]; !has {
			source.Delete(b, key)
		}
	}
}

func same[V comparable](a, b V) bool { return a == b }
