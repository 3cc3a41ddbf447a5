package model

import (
	"cmp"
	"strings"
	"time"
	"unique"
)

// ControllerName is the name in the GatewayClasses that Cardea serves.
const ControllerName = "cardea.dev/gateway-controller"

// Finalizer keeps a Gateway until what was made for it is gone. A Gateway that has it is Cardea's until its class is
// another controller's: if the class is missing, this tells whether the Gateway was served.
const Finalizer = "cardea.dev/proxies"

// Kind names a kind of object by its API group and its name, whether Cardea reads such objects or not. Equal kinds
// are equal. The zero Kind names none.
type Kind struct{ unique unique.Handle[kindName] }

type kindName struct{ group, name string }

// These kinds mean something to several packages. All else about a kind stands in its declaration (packages kind and
// kinds).
var (
	KindNone               = Kind{}
	KindGatewayClass       = KindOf(gatewayGroup, "GatewayClass")
	KindGateway            = KindOf(gatewayGroup, "Gateway")
	KindListenerSet        = KindOf(gatewayGroup, "ListenerSet")
	KindHTTPRoute          = KindOf(gatewayGroup, "HTTPRoute")
	KindGRPCRoute          = KindOf(gatewayGroup, "GRPCRoute")
	KindTLSRoute           = KindOf(gatewayGroup, "TLSRoute")
	KindTCPRoute           = KindOf(gatewayGroup, "TCPRoute")
	KindUDPRoute           = KindOf(gatewayGroup, "UDPRoute")
	KindReferenceGrant     = KindOf(gatewayGroup, "ReferenceGrant")
	KindBackendTLSPolicy   = KindOf(gatewayGroup, "BackendTLSPolicy")
	KindNamespace          = KindOf("", "Namespace")
	KindService            = KindOf("", "Service")
	KindEndpointSlice      = KindOf("discovery.k8s.io", "EndpointSlice")
	KindSecret             = KindOf("", "Secret")
	KindConfigMap          = KindOf("", "ConfigMap")
	KindClusterTrustBundle = KindOf("certificates.k8s.io", "ClusterTrustBundle")
	KindXBackend           = KindOf(xGatewayGroup, "XBackend")
	KindMCPBackend         = KindOf("agentic.networking.x-k8s.io", "XBackend")
	KindInferencePool      = KindOf("inference.networking.k8s.io", "InferencePool")
	KindInferenceObjective = KindOf("inference.networking.x-k8s.io", "InferenceObjective")
	KindModelRewrite       = KindOf("inference.networking.x-k8s.io", "InferenceModelRewrite")
	KindDataPlane          = KindOf(ownGroup, "DataPlane")
	KindClientPolicy       = KindOf(ownGroup, "ClientPolicy")
	KindSecurityPolicy     = KindOf(ownGroup, "SecurityPolicy")
	KindTrafficPolicy      = KindOf(ownGroup, "TrafficPolicy")
	KindBackendPolicy      = KindOf(ownGroup, "BackendPolicy")
)

const (
	gatewayGroup  = "gateway.networking.k8s.io"
	xGatewayGroup = "gateway.networking.x-k8s.io"
	ownGroup      = "cardea.dev"
)

// KindOf is the kind of an API group (the core group is "") and a name; KindNone if name is "".
func KindOf(group, name string) Kind {
	if name == "" {
		return KindNone
	}
	return Kind{unique.Make(kindName{group, name})}
}

func (k Kind) nameParts() kindName {
	if k == KindNone {
		return kindName{}
	}
	return k.unique.Value()
}

// String is the kind's name as in an object's `kind` field. Kinds of several groups may have one name.
func (k Kind) String() string { return k.nameParts().name }

// Group is the kind's API group; the core group is "".
func (k Kind) Group() string { return k.nameParts().group }

// QualifiedName is the kind's name, followed by the group for a kind that is neither of the Gateway API nor of
// Kubernetes nor Cardea's own: there may be another one of its name.
func (k Kind) QualifiedName() string {
	switch group := k.Group(); group {
	case "", gatewayGroup, xGatewayGroup, ownGroup, KindEndpointSlice.Group():
		return k.String()
	default:
		return k.String() + "." + group
	}
}

// Compare orders kinds by name and group.
func (k Kind) Compare(other Kind) int {
	if k == other {
		return 0
	}
	a, b := k.nameParts(), other.nameParts()
	return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.group, b.group))
}

// FailureStatus is what a route of the kind answers where it can't serve: an HTTP status, and what its users call it.
// Proxies turn a 503 into UNAVAILABLE for gRPC clients, and a 500 into UNKNOWN.
func (k Kind) FailureStatus() (status int, name string) {
	if k == KindGRPCRoute {
		return 503, "UNAVAILABLE"
	}
	return 500, "500"
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

func (r ObjectRef) nameParts() objectName {
	if r == (ObjectRef{}) {
		return objectName{}
	}
	return r.unique.Value()
}

// Kind is the object's kind.
func (r ObjectRef) Kind() Kind { return r.nameParts().kind }

// Namespace is "" for a cluster-scoped object.
func (r ObjectRef) Namespace() string { return r.nameParts().namespace }

// Name is the object's name.
func (r ObjectRef) Name() string { return r.nameParts().name }

// NamespacedName is "shop/web", or "web" for a cluster-scoped object.
func (r ObjectRef) NamespacedName() string {
	o := r.nameParts()
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
	a, b := r.nameParts(), other.nameParts()
	return cmp.Or(a.kind.Compare(b.kind), strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
}

// Meta is what Cardea keeps of an object's metadata. Status and managed fields are not kept.
type Meta struct {
	UID          string    // "" where none is stated
	Generation   int64     // grows when the spec changes
	Created      time.Time // zero: not stated; such an object is younger than all that state it
	Deleting     bool      // it is being deleted
	HasFinalizer bool      // it has the Finalizer
	Labels       Labels    // and the annotations that count (kind.Kind.Annotations)
	// Unknown are the fields of the spec that this version does not know, such as "rules[0].matches[1].language": they
	// were left out. The last one may be MoreUnknown.
	Unknown  []string
	LastEdit *LastEdit // objects of one file share it
}

// MoreUnknown stands in Meta.Unknown for fields that were not counted any more.
const MoreUnknown = "and more"

// LastEdit says who made the last change to an object's spec, when and where.
type LastEdit struct {
	By      string    // a field manager or a user; "" if unknown
	At      time.Time // zero if unknown
	Latest  bool      // it was at At or before: that is the time of a file that has other objects, too
	Where   string    // a file's path; "" in a cluster or a ledger
	Change  int64     // of the ledger; 0: the edit is in no ledger
	Message string    // of the change
}
