package kinds

import (
	"slices"
	"strconv"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/kind"
)

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
		stated(p.Group), stated(p.Kind), stated(p.Namespace), string(p.Name), stated(p.SectionName), strconv.Itoa(int(port)),
	}, "/")
}

func stated[T ~string](text *T) string {
	if text == nil {
		return ""
	}
	return string(*text)
}

func routeColumns() []kind.Column {
	return []kind.Column{
		{Title: "HOSTNAMES", Of: func(o kind.Shown) string { return words(o.Texts("spec", "hostnames")) }},
		{Title: "ACCEPTED", Of: routeAccepted},
		{Title: "RESOLVED", Of: EntriesOf("parents", "ResolvedRefs")},
		{Title: "PROGRAMMED", Of: EntriesOf("parents", "cardea.dev/Programmed")},
		wide("PARENTS", func(o kind.Shown) string { return eachOf(o.List("spec", "parentRefs"), "name") }),
	}
}

// routeAccepted is a route's Accepted, and Partially where some of its rules are answered with an error.
func routeAccepted(o kind.Shown) string {
	for _, p := range o.List("status", "parents") {
		if condition("PartiallyInvalid", p.List("conditions")) == "True" {
			return "Partially"
		}
	}
	return EntriesOf("parents", "Accepted")(o)
}
