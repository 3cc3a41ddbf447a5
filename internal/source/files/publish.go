package files

import (
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// objectEdit is a change of one object in its source.
type objectEdit struct {
	ref     model.ObjectRef
	object  *goodVersion // nil deletes
	deleted *goodVersion // what is deleted
}

// writeEdits writes edits into the sources of their kinds.
func writeEdits(b *flow.Batch, s *input.Sources, edits []objectEdit) {
	for _, e := range edits {
		if e.object == nil {
			s.KindSource(e.ref.Kind()).Delete(b, e.ref)
		} else {
			s.KindSource(e.ref.Kind()).Set(b, e.ref, e.object.publishedMeta(), e.object.Spec)
		}
	}
}

// updateSource makes a source that has the one map have the other.
func updateSource[K comparable, V any](
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

func equalValues[V comparable](a, b V) bool { return a == b }
