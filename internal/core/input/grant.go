package input

import (
	"cardea.dev/cardea/internal/core/model"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// WithdrawnGrant is a ReferenceGrant as it was last.
type WithdrawnGrant struct {
	Spec  *gatewayv1.ReferenceGrantSpec
	Where string // the file that had it
}

// GrantPermits tells whether a ReferenceGrant, which stands in the namespace of the object that is referred to, lets
// from refer to it (ReferenceGrantSpec: an entry of From and an entry of To must match). It is asked before the object
// is read, and before it is served.
func GrantPermits(grant *gatewayv1.ReferenceGrantSpec, from, to model.ObjectRef) bool {
	return permitsFrom(grant.From, from) && permitsTo(grant.To, to)
}

func permitsFrom(list []gatewayv1.ReferenceGrantFrom, from model.ObjectRef) bool {
	for _, f := range list {
		if string(f.Group) == from.Kind().Group() && string(f.Kind) == from.Kind().String() &&
			string(f.Namespace) == from.Namespace() {
			return true
		}
	}
	return false
}

func permitsTo(list []gatewayv1.ReferenceGrantTo, to model.ObjectRef) bool {
	for _, t := range list {
		named := t.Name != nil && *t.Name != ""
		if string(t.Group) == to.Kind().Group() && string(t.Kind) == to.Kind().String() &&
			(!named || string(*t.Name) == to.Name()) {
			return true
		}
	}
	return false
}
