package kube

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/model"
)

// resource is how a kind is found in the API.
type resource struct {
	name     string                // as in a path: "httproutes"
	versions []schema.GroupVersion // the best first; one that is not served gives way to the next
	custom   bool                  // there is a CustomResourceDefinition, or there is none
	optional bool                  // Cardea does all but what this kind is for without it
	demanded bool                  // objects are read one by one, when something refers to them
	bare     bool                  // nothing but metadata is read
}

func (r resource) definition() string { return r.name + "." + r.versions[0].Group }

var resources = map[model.Kind]resource{
	model.KindGatewayClass: {name: "gatewayclasses", versions: in(gatewayv1.SchemeGroupVersion), custom: true},
	model.KindGateway:      {name: "gateways", versions: in(gatewayv1.SchemeGroupVersion), custom: true},
	model.KindHTTPRoute:    {name: "httproutes", versions: in(gatewayv1.SchemeGroupVersion), custom: true},
	model.KindGRPCRoute: {name: "grpcroutes", versions: in(gatewayv1.SchemeGroupVersion), custom: true,
		optional: true},
	model.KindReferenceGrant: {name: "referencegrants",
		versions: in(gatewayv1.SchemeGroupVersion, gatewayv1beta1.SchemeGroupVersion), custom: true},
	model.KindNamespace:     {name: "namespaces", versions: in(corev1.SchemeGroupVersion), bare: true},
	model.KindService:       {name: "services", versions: in(corev1.SchemeGroupVersion)},
	model.KindEndpointSlice: {name: "endpointslices", versions: in(discoveryv1.SchemeGroupVersion)},
	model.KindSecret:        {name: "secrets", versions: in(corev1.SchemeGroupVersion), demanded: true},
	model.KindConfigMap:     {name: "configmaps", versions: in(corev1.SchemeGroupVersion), demanded: true},
	model.KindXBackend: {name: "xbackends", versions: in(xgatewayv1alpha1.SchemeGroupVersion), custom: true,
		optional: true},
	model.KindDataPlane: {name: "dataplanes", versions: in(v1alpha1.GroupVersion), custom: true, optional: true},
}

func in(versions ...schema.GroupVersion) []schema.GroupVersion { return versions }

// after says which kind must have been read before a kind can be judged: whose a Gateway is, its class tells; whose a
// route is, its Gateways.
var after = map[model.Kind]model.Kind{
	model.KindGateway:   model.KindGatewayClass,
	model.KindHTTPRoute: model.KindGateway,
	model.KindGRPCRoute: model.KindGateway,
}

// lingers says of which kinds an object that is gone goes on being there for arrival.Hold: what names it is about to
// change, or it is about to come back. A ReferenceGrant that is gone is a permission taken back: that can't wait.
func lingers(kind model.Kind) bool {
	switch kind {
	case model.KindService, model.KindEndpointSlice, model.KindSecret, model.KindConfigMap, model.KindXBackend:
		return true
	}
	return false
}
