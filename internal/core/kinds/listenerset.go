package kinds

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// listenerSet is the kind of listeners that stand beside their Gateway: another team brings them, with its certificates
// (GEP-1713).
func listenerSet() *kind.Kind {
	k := customKind(model.KindListenerSet, kind.CustomContent[gatewayv1.ListenerSetSpec]())
	k.ReadAfter, k.Optional, k.Cacheable = model.KindGateway, true, true
	k.References = func(from model.ObjectRef, spec any) []kind.Reference {
		set := spec.(*gatewayv1.ListenerSetSpec)
		r := kind.References{Namespace: from.Namespace()}
		r.Add(set.ParentRef.Group, set.ParentRef.Kind, set.ParentRef.Namespace, set.ParentRef.Name, kind.Reference{},
			model.KindGateway)
		for _, l := range set.Listeners {
			addListenerTLS(&r, l.TLS)
		}
		return r.List
	}
	k.RefersTo = []model.Kind{model.KindGateway, model.KindSecret}
	k.TrimForeign = func(spec any) any {
		return &gatewayv1.ListenerSetSpec{ParentRef: spec.(*gatewayv1.ListenerSetSpec).ParentRef}
	}
	k.Parts = func(spec any) (parts []kind.Part) {
		for _, l := range spec.(*gatewayv1.ListenerSetSpec).Listeners {
			parts = append(parts, kind.Part{Port: l.Port, Section: string(l.Name)})
		}
		return parts
	}
	k.Status = &kind.Status{
		Conditions: []string{"Accepted", "Programmed"},
		List:       "listeners", Identity: "name", Entries: 64,
		InEntry: listenerConditions,
		Stamp: kind.StampOf(func(s gatewayv1.ListenerSetStatus, stamp kind.Stamper) gatewayv1.ListenerSetStatus {
			s.Conditions = stamp("", s.Conditions)
			s.Listeners = slices.Clone(s.Listeners)
			for i := range s.Listeners {
				l := &s.Listeners[i]
				l.Conditions = stamp(string(l.Name), l.Conditions)
			}
			return s
		}),
	}
	k.Columns = []kind.Column{
		fieldColumn("GATEWAY", "spec", "parentRef", "name"),
		{Title: "ACCEPTED", CellText: func(o kind.JSONObject) string {
			return conditionStatus("Accepted", o.ObjectsAt("status", "conditions"))
		}},
		{Title: "PROGRAMMED", CellText: gatewayProgrammed},
		wideColumn("LISTENERS", listListeners),
	}
	return &k
}

// listenerConditions are the conditions of a listener, in a Gateway or in a set.
var listenerConditions = []string{"Accepted", "Conflicted", "ResolvedRefs", "Programmed", "OverlappingTLSConfig"}

// ListenersOf are the listeners that stand in a Gateway or a ListenerSet, in its order; none: it does not exist.
func (s *Sources) ListenersOf(v flow.View, parent model.ObjectRef) (list []gatewayv1.Listener) {
	if o, found := flow.Get(v, s.Gateways.Collection(), parent); found {
		return o.Spec.Listeners
	}
	if o, found := flow.Get(v, s.ListenerSets.Collection(), parent); found {
		for _, l := range o.Spec.Listeners {
			list = append(list, gatewayv1.Listener(l))
		}
	}
	return list
}
