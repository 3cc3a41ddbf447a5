package files

import (
	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
)

// edit is a change of one object in its source.
type edit struct {
	ref    model.ObjectRef
	meta   model.Meta
	object *object // nil deletes
}

// publish writes edits into the sources of their kinds.
func publish(b *flow.Batch, s *input.Sources, edits []edit) {
	for _, e := range edits {
		switch e.ref.Kind {
		case model.KindGatewayClass:
			put[gatewayv1.GatewayClassSpec](b, s.GatewayClasses, e)
		case model.KindGateway:
			put[gatewayv1.GatewaySpec](b, s.Gateways, e)
		case model.KindHTTPRoute:
			put[gatewayv1.HTTPRouteSpec](b, s.HTTPRoutes, e)
		case model.KindReferenceGrant:
			put[gatewayv1.ReferenceGrantSpec](b, s.ReferenceGrants, e)
		case model.KindNamespace:
			put[input.NamespaceSpec](b, s.Namespaces, e)
		case model.KindService:
			put[corev1.ServiceSpec](b, s.Services, e)
		case model.KindEndpointSlice:
			put[input.EndpointSliceSpec](b, s.EndpointSlices, e)
		case model.KindSecret:
			put[input.SecretSpec](b, s.Secrets, e)
		case model.KindConfigMap:
			put[input.ConfigMapSpec](b, s.ConfigMaps, e)
		case model.KindXBackend:
			put[xgatewayv1alpha1.BackendSpec](b, s.XBackends, e)
		}
	}
}

func put[S any](b *flow.Batch, source *input.Source[S], e edit) {
	if e.object == nil {
		source.Delete(b, e.ref)
		return
	}
	source.Set(b, e.ref, input.Object[S]{Meta: e.meta, Spec: e.object.spec.(S)})
}
