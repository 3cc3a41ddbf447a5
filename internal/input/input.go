package input

import (
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
)

// Object is an object as it enters: defaulted and valid by its schema, without status.
type Object[S any] struct {
	Meta model.Meta
	Spec S
}

// Source is the source of one kind.
type Source[S any] = flow.Source[model.ObjectRef, Object[S]]

// Collection is what a Source shows.
type Collection[S any] = flow.Collection[model.ObjectRef, Object[S]]

// NamespaceSpec is empty: of a Namespace its labels count.
type NamespaceSpec struct{}

// EndpointSliceSpec is an EndpointSlice's content; the Service it belongs to is in its labels.
type EndpointSliceSpec struct {
	AddressType discoveryv1.AddressType
	Endpoints   []discoveryv1.Endpoint
	Ports       []discoveryv1.EndpointPort
}

// SecretSpec is a Secret's content.
type SecretSpec struct {
	Type corev1.SecretType
	Data map[string][]byte
}

// MarshalJSON tells the names of the entries only, since JSON is what dumps show.
func (s SecretSpec) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type    corev1.SecretType
		Entries []string
	}{s.Type, slices.Sorted(maps.Keys(s.Data))})
}

// ConfigMapSpec is a ConfigMap's content.
type ConfigMapSpec struct {
	Data       map[string]string
	BinaryData map[string][]byte
}

// Sources has a source for every kind, and for what else the meaning depends on.
type Sources struct {
	GatewayClasses  *Source[gatewayv1.GatewayClassSpec]
	Gateways        *Source[gatewayv1.GatewaySpec]
	HTTPRoutes      *Source[gatewayv1.HTTPRouteSpec]
	ReferenceGrants *Source[gatewayv1.ReferenceGrantSpec]
	Namespaces      *Source[NamespaceSpec]
	Services        *Source[corev1.ServiceSpec]
	EndpointSlices  *Source[EndpointSliceSpec]
	Secrets         *Source[SecretSpec]
	ConfigMaps      *Source[ConfigMapSpec]
	XBackends       *Source[xgatewayv1alpha1.BackendSpec]

	// DataPlanes tells what serves each Gateway; the zero ObjectRef holds the default.
	DataPlanes *flow.Source[model.ObjectRef, model.DataPlane]
}

// New makes the sources. They are synced by whoever fills them (Synced).
func New(g *flow.Graph) *Sources {
	return &Sources{
		GatewayClasses:  flow.NewSource[model.ObjectRef, Object[gatewayv1.GatewayClassSpec]](g, "input/GatewayClass"),
		Gateways:        flow.NewSource[model.ObjectRef, Object[gatewayv1.GatewaySpec]](g, "input/Gateway"),
		HTTPRoutes:      flow.NewSource[model.ObjectRef, Object[gatewayv1.HTTPRouteSpec]](g, "input/HTTPRoute"),
		ReferenceGrants: flow.NewSource[model.ObjectRef, Object[gatewayv1.ReferenceGrantSpec]](g, "input/ReferenceGrant"),
		Namespaces:      flow.NewSource[model.ObjectRef, Object[NamespaceSpec]](g, "input/Namespace"),
		Services:        flow.NewSource[model.ObjectRef, Object[corev1.ServiceSpec]](g, "input/Service"),
		EndpointSlices:  flow.NewSource[model.ObjectRef, Object[EndpointSliceSpec]](g, "input/EndpointSlice"),
		Secrets:         flow.NewSource[model.ObjectRef, Object[SecretSpec]](g, "input/Secret"),
		ConfigMaps:      flow.NewSource[model.ObjectRef, Object[ConfigMapSpec]](g, "input/ConfigMap"),
		XBackends:       flow.NewSource[model.ObjectRef, Object[xgatewayv1alpha1.BackendSpec]](g, "input/XBackend"),
		DataPlanes:      flow.NewSource[model.ObjectRef, model.DataPlane](g, "input/DataPlane"),
	}
}

// Synced says that the first load of every kind of object is complete. DataPlanes is not one of them.
func (s *Sources) Synced(b *flow.Batch) {
	s.GatewayClasses.Synced(b)
	s.Gateways.Synced(b)
	s.HTTPRoutes.Synced(b)
	s.ReferenceGrants.Synced(b)
	s.Namespaces.Synced(b)
	s.Services.Synced(b)
	s.EndpointSlices.Synced(b)
	s.Secrets.Synced(b)
	s.ConfigMaps.Synced(b)
	s.XBackends.Synced(b)
}
