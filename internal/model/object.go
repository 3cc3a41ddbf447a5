package model

import (
	"cmp"
	"strings"
	"time"
	"unique"
)

// ControllerName is the controller whose GatewayClasses Cardea serves.
const ControllerName = "cardea.dev/gateway-controller"

// Finalizer keeps a Gateway until what was made for it is gone. Who has it is Cardea's until its class is another
// controller's: this says of a Gateway whose class is missing whether it was served.
const Finalizer = "cardea.dev/proxies"

// Kind names a kind of object that Cardea knows; its group is implied.
type Kind uint8

// The kinds that Cardea reads. The zero Kind is none of them.
const (
	KindNone Kind = iota
	KindGatewayClass
	KindGateway
	KindHTTPRoute
	KindGRPCRoute
	KindReferenceGrant
	KindNamespace
	KindService
	KindEndpointSlice
	KindSecret
	KindConfigMap
	KindXBackend
	KindDataPlane
	kindEnd
)

const (
	gatewayGroup  = "gateway.networking.k8s.io"
	xGatewayGroup = "gateway.networking.x-k8s.io"
	ownGroup      = "cardea.dev"
)

var kinds = [...]struct{ group, kind string }{
	KindNone:           {"", ""},
	KindGatewayClass:   {gatewayGroup, "GatewayClass"},
	KindGateway:        {gatewayGroup, "Gateway"},
	KindHTTPRoute:      {gatewayGroup, "HTTPRoute"},
	KindGRPCRoute:      {gatewayGroup, "GRPCRoute"},
	KindReferenceGrant: {gatewayGroup, "ReferenceGrant"},
	KindNamespace:      {"", "Namespace"},
	KindService:        {"", "Service"},
	KindEndpointSlice:  {"discovery.k8s.io", "EndpointSlice"},
	KindSecret:         {"", "Secret"},
	KindConfigMap:      {"", "ConfigMap"},
	KindXBackend:       {xGatewayGroup, "XBackend"},
	KindDataPlane:      {ownGroup, "DataPlane"},
}

// String is the kind's name as in an object's `kind` field.
func (k Kind) String() string { return kinds[k].kind }

// Group is the kind's API group; the core group is "".
func (k Kind) Group() string { return kinds[k].group }

// Failure is what a route of the kind answers where it can't serve: an HTTP status, and what its users call it. Of a
// 503 proxies make UNAVAILABLE for gRPC clients, of a 500 UNKNOWN.
func (k Kind) Failure() (status int, name string) {
	if k == KindGRPCRoute {
		return 503, "UNAVAILABLE"
	}
	return 500, "500"
}

// Kinds lists every kind that Cardea reads.
func Kinds() []Kind {
	list := make([]Kind, 0, kindEnd-1)
	for k := KindNone + 1; k < kindEnd; k++ {
		list = append(list, k)
	}
	return list
}

// KindOf finds the kind for an API group and a kind's name; KindNone if Cardea does not read it.
func KindOf(group, kind string) Kind {
	for k, e := range kinds {
		if k != 0 && e.group == group && e.kind == kind {
			return Kind(k)
		}
	}
	return KindNone
}

// ObjectRef names one object. References to the same object are equal. The zero reference names none.
type ObjectRef struct{ unique unique.Handle[objectName] } // millions are kept, most of them of few objects

type objectName struct {
	kind            Kind
	namespace, name string
}

// Ref makes a reference. Cluster-scoped kinds have no namespace.
func Ref(kind Kind, namespace, name string) ObjectRef {
	return ObjectRef{unique.Make(objectName{kind, namespace, name})}
}

func (r ObjectRef) parts() objectName {
	if r == (ObjectRef{}) {
		return objectName{}
	}
	return r.unique.Value()
}

// Kind is the object's kind.
func (r ObjectRef) Kind() Kind { return r.parts().kind }

// Namespace is "" for a cluster-scoped object.
func (r ObjectRef) Namespace() string { return r.parts().namespace }

// Name is the object's name.
func (r ObjectRef) Name() string { return r.parts().name }

// NamespacedName is "shop/web", or "web" for a cluster-scoped object.
func (r ObjectRef) NamespacedName() string {
	o := r.parts()
	if o.namespace == "" {
		return o.name
	}
	return o.namespace + "/" + o.name
}

// String is "HTTPRoute shop/web", as messages name objects.
func (r ObjectRef) String() string { return r.Kind().String() + " " + r.NamespacedName() }

// Compare orders references by kind, namespace and name.
func (r ObjectRef) Compare(other ObjectRef) int {
	if r == other {
		return 0
	}
	a, b := r.parts(), other.parts()
	return cmp.Or(cmp.Compare(a.kind, b.kind), strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
}

// Meta is what Cardea keeps of an object's metadata. Status and managed fields are not kept.
type Meta struct {
	UID        string    // "" where none is stated
	Generation int64     // grows when the spec changes
	Created    time.Time // zero: not stated; such an object is younger than all that state it
	Deleting   bool      // it is being deleted
	Held       bool      // it has the Finalizer
	Labels     Labels
	Edit       *Edit // objects of one file share it
}

// Edit says who made the last change to an object's spec, when and where.
type Edit struct {
	By    string    // a field manager or a user; "" if unknown
	At    time.Time // zero if unknown
	Where string    // a file's path; "" in a cluster
}
