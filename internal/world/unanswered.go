package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
)

// unanswered tells of backends that nobody answers for. Who asks for findings looks for them: so a change of endpoints
// costs no more for it.
func (w *World) unanswered(v flow.View) (list []model.Finding) {
	for key, b := range flow.All(v, w.Plan.Backends) {
		if !b.Reachable() {
			list = append(list, noEndpoint(key))
		}
	}
	return byMessage(list)
}

// newlyUnanswered are those that the edits of a Try bring; v is its View.
func (w *World) newlyUnanswered(v flow.View) (list []model.Finding) {
	for change := range flow.Staged(v, w.Plan.Backends) {
		was, there := flow.Before(v, w.Plan.Backends, change.Key)
		if !change.Deleted && !change.Value.Reachable() && (!there || was.Reachable()) {
			list = append(list, noEndpoint(change.Key))
		}
	}
	return byMessage(list)
}

// unansweredOf are those about one object.
func (w *World) unansweredOf(v flow.View, ref model.ObjectRef) []model.Finding {
	if k := w.Sources.Catalog.Of(ref.Kind()); k == nil || k.Sliced == nil {
		return nil
	}
	return slices.DeleteFunc(w.unanswered(v), func(f model.Finding) bool { return f.Object != ref })
}

// Endpoints are how many endpoints are ready of each backend that requests are sent to, in the words of
// model.EndpointsAnnotation. Of a hostname only the proxy knows.
func (w *World) Endpoints(v flow.View) map[model.ObjectRef]string {
	counts := map[model.ObjectRef]map[int32]int{}
	for key, b := range flow.All(v, w.Plan.Backends) {
		if b.Hostname != "" {
			continue
		}
		of := key.Backend.Object
		if counts[of] == nil {
			counts[of] = map[int32]int{}
		}
		counts[of][key.Backend.Port] = len(b.Endpoints)
	}
	words := make(map[model.ObjectRef]string, len(counts))
	for of, ports := range counts {
		var all []string
		for _, port := range slices.Sorted(maps.Keys(ports)) {
			if port == 0 { // an XBackend has one
				all = append(all, fmt.Sprint(ports[port]))
			} else {
				all = append(all, fmt.Sprintf("%d:%d", port, ports[port]))
			}
		}
		words[of] = strings.Join(all, ",")
	}
	return words
}

func noEndpoint(key plan.BackendKey) model.Finding {
	what := "it"
	if key.Backend.Port != 0 {
		what = fmt.Sprintf("port %d", key.Backend.Port)
	}
	return model.Finding{
		Object: key.Backend.Object, Severity: model.Warning,
		Message: fmt.Sprintf("%s has no endpoint that is ready: what %s sends there fails", what, key.Gateway),
	}
}

// byMessage sorts findings whose fields don't tell them apart; those that say the same are one.
func byMessage(list []model.Finding) []model.Finding {
	slices.SortFunc(list, func(a, b model.Finding) int {
		if c := a.Object.Compare(b.Object); c != 0 {
			return c
		}
		return strings.Compare(a.Message, b.Message)
	})
	return slices.Compact(list)
}
