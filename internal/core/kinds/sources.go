package kinds

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/api/agentic/v0alpha0"
	inferencev1 "cardea.dev/cardea/api/inference/v1"
	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// Sources are the sources of a program, and those of the kinds of this package by type.
type Sources struct {
	*input.Sources

	GatewayClasses      *input.Source[gatewayv1.GatewayClassSpec]
	Gateways            *input.Source[gatewayv1.GatewaySpec]
	ListenerSets        *input.Source[gatewayv1.ListenerSetSpec]
	HTTPRoutes          *input.Source[gatewayv1.HTTPRouteSpec]
	GRPCRoutes          *input.Source[gatewayv1.GRPCRouteSpec]
	ReferenceGrants     *input.Source[gatewayv1.ReferenceGrantSpec]
	Namespaces          *input.Source[input.NamespaceSpec]
	Services            *input.Source[corev1.ServiceSpec]
	EndpointSlices      *input.Source[input.EndpointSliceSpec]
	Secrets             *input.Source[input.SecretSpec]
	ConfigMaps          *input.Source[input.ConfigMapSpec]
	ClusterTrustBundles *input.Source[certificatesv1.ClusterTrustBundleSpec]
	XBackends           *input.Source[xgatewayv1alpha1.BackendSpec]
	BackendTLSPolicies  *input.Source[gatewayv1.BackendTLSPolicySpec]
	DataPlanes          *input.Source[v1alpha1.DataPlaneSpec]
	MCPBackends         *input.Source[v0alpha0.XBackendSpec]
	InferencePools      *input.Source[inferencev1.InferencePoolSpec]
}

// SourcesOf finds the sources of a program that has all kinds of this package in its catalog.
func SourcesOf(s *input.Sources) *Sources {
	return &Sources{
		Sources:             s,
		GatewayClasses:      input.SourceOf[gatewayv1.GatewayClassSpec](s, model.KindGatewayClass),
		Gateways:            input.SourceOf[gatewayv1.GatewaySpec](s, model.KindGateway),
		ListenerSets:        input.SourceOf[gatewayv1.ListenerSetSpec](s, model.KindListenerSet),
		HTTPRoutes:          input.SourceOf[gatewayv1.HTTPRouteSpec](s, model.KindHTTPRoute),
		GRPCRoutes:          input.SourceOf[gatewayv1.GRPCRouteSpec](s, model.KindGRPCRoute),
		ReferenceGrants:     input.SourceOf[gatewayv1.ReferenceGrantSpec](s, model.KindReferenceGrant),
		Namespaces:          input.SourceOf[input.NamespaceSpec](s, model.KindNamespace),
		Services:            input.SourceOf[corev1.ServiceSpec](s, model.KindService),
		EndpointSlices:      input.SourceOf[input.EndpointSliceSpec](s, model.KindEndpointSlice),
		Secrets:             input.SourceOf[input.SecretSpec](s, model.KindSecret),
		ConfigMaps:          input.SourceOf[input.ConfigMapSpec](s, model.KindConfigMap),
		ClusterTrustBundles: input.SourceOf[certificatesv1.ClusterTrustBundleSpec](s, model.KindClusterTrustBundle),
		XBackends:           input.SourceOf[xgatewayv1alpha1.BackendSpec](s, model.KindXBackend),
		BackendTLSPolicies:  input.SourceOf[gatewayv1.BackendTLSPolicySpec](s, model.KindBackendTLSPolicy),
		DataPlanes:          input.SourceOf[v1alpha1.DataPlaneSpec](s, model.KindDataPlane),
		MCPBackends:         input.SourceOf[v0alpha0.XBackendSpec](s, model.KindMCPBackend),
		InferencePools:      input.SourceOf[inferencev1.InferencePoolSpec](s, model.KindInferencePool),
	}
}

// NewSources makes the sources of the kinds of this package.
func NewSources(g *flow.Graph) *Sources { return SourcesOf(input.New(g, NewCatalog())) }
