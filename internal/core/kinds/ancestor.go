package kinds

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/kind"
)

// AncestorStatus is the form of a status that has an entry for each Gateway that an object has to do with.
func AncestorStatus(entries int, stamp func(any, kind.Stamper) any) *kind.Status {
	return &kind.Status{
		List: "ancestors", Identity: "ancestorRef", Controlled: true, Entries: entries,
		InEntry: []string{"Accepted", "ResolvedRefs"},
		Stamp:   stamp,
	}
}

// StampPolicy stamps the status of a policy (kind.StampOf).
func StampPolicy(status gatewayv1.PolicyStatus, stamp kind.Stamper) gatewayv1.PolicyStatus {
	status.Ancestors = slices.Clone(status.Ancestors)
	for i := range status.Ancestors {
		a := &status.Ancestors[i]
		a.Conditions = stamp(parentName(a.AncestorRef), a.Conditions)
	}
	return status
}
