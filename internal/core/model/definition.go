package model

// Definition is a CustomResourceDefinition of a cluster that is absent, or is older than what Cardea reads.
type Definition struct {
	Name   string // "inferencepools.inference.networking.k8s.io"
	Origin KindOrigin
	Absent bool
	Reads  string // Cardea reads one of these versions: "v1"
	Serves string // the versions that the cluster serves: "v1alpha1, v1alpha2"
	// NotServed: none of them is read.
	NotServed bool
	// Lacks are fields that are read and that the definition has not: "spec.appProtocol".
	Lacks string
}

// KindOrigin is who defines a kind, and so who installs its CustomResourceDefinition.
type KindOrigin uint8

const (
	// OwnOrigin: Cardea, or a module that its program was built with.
	OwnOrigin KindOrigin = iota
	// GatewayAPIOrigin: the Gateway API.
	GatewayAPIOrigin
	// ThirdPartyOrigin: another project. deploy/third-party-crds.yaml has the definition, for clusters without it.
	ThirdPartyOrigin
)

// DefinedBy is who defines the kind.
func (k Kind) DefinedBy() KindOrigin {
	switch k.Group() {
	case gatewayGroup, xGatewayGroup:
		return GatewayAPIOrigin
	case KindMCPBackend.Group(), KindInferencePool.Group(), KindInferenceObjective.Group():
		return ThirdPartyOrigin
	}
	return OwnOrigin
}
