package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// backendFindings tells of backends that nobody answers for, and of slices that have no effect. It runs only when
// somebody asks for findings, so a change of endpoints costs nothing here.
func (w *World) backendFindings(v flow.View) (list []model.Finding) {
	for key := range flow.All(v, w.Plan.Backends) {
		list = append(list, w.noEndpoint(v, key)...)
	}
	return byMessage(append(list, w.translator.Backends.IgnoredSlices(v)...))
}

// newBackendFindings are those that the edits of a Try bring; v is its View.
func (w *World) newBackendFindings(v flow.View) (list []model.Finding) {
	for change := range flow.StagedChanges(v, w.Plan.Backends) {
		if was, there := flow.ValueBefore(v, w.Plan.Backends, change.Key); !there || was.IsReachable() {
			list = append(list, w.noEndpoint(v, change.Key)...)
		}
	}
	return byMessage(append(list, w.translator.Backends.NewlyIgnoredSlices(v)...))
}

// backendFindingsOf are those about one object.
func (w *World) backendFindingsOf(v flow.View, ref model.ObjectRef) []model.Finding {
	k := w.Sources.Catalog.FindKind(ref.Kind())
	if k == nil || k.OwnsEndpointSlices == nil && ref.Kind() != model.KindEndpointSlice {
		return nil
	}
	return slices.DeleteFunc(w.backendFindings(v), func(f model.Finding) bool { return f.Object != ref })
}

// noEndpoint is the finding about a backend that is there and has no endpoint that is ready. A cluster makes the slices
// of a backend with a selector, even empty ones: so while it has none, nobody knows its endpoints yet.
func (w *World) noEndpoint(v flow.View, key plan.BackendKey) []model.Finding {
	b, found := flow.Get(v, w.Plan.Backends, key)
	if !found || b.IsReachable() {
		return nil
	}
	of := key.Backend.Object
	if key.Backend.Picker {
		return w.noPicker(v, key)
	}
	if instead := w.translator.Backends.DescribeFailover(v, of); instead != "" {
		return []model.Finding{{Object: of, Severity: model.Warning, Message: instead}}
	}
	what, advice := "it", ""
	if key.Backend.Port != 0 {
		what = fmt.Sprintf("port %d", key.Backend.Port)
	}
	if b.TLS != nil && b.TLS.Closed != "" {
		return []model.Finding{{
			Object: of, Severity: model.Warning,
			Message: fmt.Sprintf("%s gets no request: requests that %s sends there fail: %s", what, key.Gateway, b.TLS.Closed),
		}}
	}
	label, value, sliced := w.translator.Backends.SlicesOf(v, of)
	if !sliced && !w.noPods && w.selectsPods(v, of) {
		return nil
	}
	if !sliced && label != "" {
		advice = fmt.Sprintf("; add an EndpointSlice with the label %s: %s", label, value)
	}
	return []model.Finding{{
		Object: of, Severity: model.Warning,
		Message: fmt.Sprintf("%s has no ready endpoint: requests that %s sends there fail%s", what, key.Gateway, advice),
	}}
}

// noPicker is the finding about a picker without an endpoint that is ready. If its Service is not there, the pool's
// report says so.
func (w *World) noPicker(v flow.View, key plan.BackendKey) []model.Finding {
	of := key.Backend.Object
	pool, _ := flow.Get(v, w.Plan.Backends, plan.BackendKey{Gateway: key.Gateway, Backend: model.BackendKey{Object: of}})
	if pool.Pool == nil {
		return nil
	}
	service := pool.Pool.Picker
	if _, there := flow.Get(v, w.Sources.Services.Collection(), service.Object); !there {
		return nil
	}
	instead := "requests are answered 503"
	if pool.Pool.FailOpen {
		instead = "the proxy chooses in its place"
	}
	return []model.Finding{{
		Object: of, Severity: model.Warning, Field: "spec.endpointPickerRef",
		Message: fmt.Sprintf("%s has no ready endpoint: at %s %s", service.Describe(), key.Gateway, instead),
	}}
}

// selectsPods tells whether an object has a selector of pods.
func (w *World) selectsPods(v flow.View, ref model.ObjectRef) bool {
	k := w.Sources.Catalog.FindKind(ref.Kind())
	if k.SelectsPods == nil {
		return false
	}
	o, found := w.Sources.KindSource(ref.Kind()).Get(v, ref)
	return found && k.SelectsPods(o.Spec)
}

// EndpointCounts are how many endpoints are ready of each backend that requests are sent to, in the words of
// model.EndpointsAnnotation. Backends with a hostname have none: only the proxy knows.
func (w *World) EndpointCounts(v flow.View) map[model.ObjectRef]string {
	counts := map[model.ObjectRef]map[int32]int{}
	for key, b := range flow.All(v, w.Plan.Backends) {
		if b.Hostname != "" || key.Backend.Picker {
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

// byMessage sorts findings that only their object and message tell apart; those that say the same are one.
func byMessage(list []model.Finding) []model.Finding {
	slices.SortFunc(list, func(a, b model.Finding) int {
		if c := a.Object.Compare(b.Object); c != 0 {
			return c
		}
		return strings.Compare(a.Message, b.Message)
	})
	return slices.Compact(list)
}
