package world

import (
	"fmt"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
)

// unanswered tells of a backend that nobody answers for. Who asks for findings looks for it: so a change of endpoints
// costs no more for it.
func unanswered(key plan.BackendKey, b model.Backend) []model.Finding {
	if b.Reachable() {
		return nil
	}
	return []model.Finding{{
		Object: key.Backend.Object, Severity: model.Warning, Message: fmt.Sprintf(
			"%s has no endpoint that is ready: what %s sends to it fails", key.Backend.Words(), key.Gateway),
	}}
}

// unansweredOf looks for them among the backends of one object.
func (w *World) unansweredOf(v flow.View, ref model.ObjectRef) (list []model.Finding) {
	if k := w.Sources.Catalog.Of(ref.Kind()); k == nil || k.Sliced == nil {
		return nil
	}
	for key, b := range flow.All(v, w.Plan.Backends) {
		if key.Backend.Object == ref {
			list = append(list, unanswered(key, b)...)
		}
	}
	return list
}
