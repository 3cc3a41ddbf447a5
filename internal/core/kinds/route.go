package kinds

import (
	"slices"
	"strconv"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// httpListeners are those that routes for requests attach to.
var httpListeners = []kind.ListenerMode{{Protocol: model.HTTP}, {Protocol: model.HTTPS, TLS: model.TLSTerminate}}

// routeStatus is the form of the status of routes.
func routeStatus(stamp func(any, kind.Stamper) any) *kind.Status {
	return &kind.Status{
		List: "parents", Identity: "parentRef", Controlled: true, Entries: 32,
		InEntry: []string{"Accepted", "ResolvedRefs", "PartiallyInvalid"},
		Stamp:   stamp,
	}
}

func stampRoute(status gatewayv1.RouteStatus, stamp kind.Stamper) gatewayv1.RouteStatus {
	status.Parents = slices.Clone(status.Parents)
	for i := range status.Parents {
		p := &status.Parents[i]
		p.Conditions = stamp(parentName(p.ParentRef), p.Conditions)
	}
	return status
}

// parentName tells apart the parents of one object.
func parentName(p gatewayv1.ParentReference) string {
	port := gatewayv1.PortNumber(0)
	if p.Port != nil {
		port = *p.Port
	}
	return strings.Join([]string{
		derefText(p.Group), derefText(p.Kind), derefText(p.Namespace), string(p.Name), derefText(p.SectionName),
		strconv.Itoa(int(port)),
	}, "/")
}

func derefText[T ~string](text *T) string {
	if text == nil {
		return ""
	}
	return string(*text)
}

func routeColumns() []kind.Column {
	return []kind.Column{
		{Title: "HOSTNAMES", CellText: func(o kind.JSONObject) string { return joinWords(o.TextsAt("spec", "hostnames")) }},
		{Title: "ACCEPTED", CellText: routeAccepted},
		{Title: "RESOLVED", CellText: EntriesOf("parents", "ResolvedRefs")},
		{Title: "PROGRAMMED", CellText: EntriesOf("parents", "cardea.dev/Programmed")},
		wideColumn("PARENTS", func(o kind.JSONObject) string { return eachOf(o.ObjectsAt("spec", "parentRefs"), "name") }),
	}
}

// routeAccepted is a route's Accepted, and Partially where some of its rules are answered with an error.
func routeAccepted(o kind.JSONObject) string {
	for _, p := range o.ObjectsAt("status", "parents") {
		if conditionStatus("PartiallyInvalid", p.ObjectsAt("conditions")) == "True" {
			return "Partially"
		}
	}
	return EntriesOf("parents", "Accepted")(o)
}
