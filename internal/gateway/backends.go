package gateway

import (
	"fmt"
	"iter"
	"net/netip"

	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resolve"
)

// unsupportedXBackend says what of an XBackend can't be served.
func unsupportedXBackend(spec xgatewayv1alpha1.BackendSpec) (reason, message string) {
	switch {
	case spec.Type != xgatewayv1alpha1.BackendTypeExternalHostname || spec.ExternalHostname == nil:
		return "UnsupportedValue", fmt.Sprintf("type %s is not supported; use ExternalHostname", spec.Type)
	case spec.Protocol != nil && *spec.Protocol != xgatewayv1alpha1.BackendProtocolHTTP && *spec.Protocol != xgatewayv1alpha1.BackendProtocolHTTP11:
		return "UnsupportedProtocol", fmt.Sprintf("protocol %s is not supported; use HTTP", *spec.Protocol)
	case spec.TLS != nil && spec.TLS.Mode != xgatewayv1alpha1.BackendTLSModeNone:
		return "UnsupportedProtocol", "TLS towards the backend is not supported"
	case spec.SessionPersistence != nil:
		return "UnsupportedValue", "sessionPersistence is not supported"
	}
	if _, err := netip.ParseAddr(string(spec.ExternalHostname.Hostname)); err == nil {
		return "UnsupportedValue", fmt.Sprintf("%q is an IP address; state a hostname, such as localhost", spec.ExternalHostname.Hostname)
	}
	return "", ""
}

// backendUsers lists which backends a route needs on which Gateways.
func backendUsers(_ *flow.Ctx, route model.ObjectRef, r routeRules, emit func(plan.BackendUser, struct{})) {
	seen := map[model.BackendKey]bool{}
	for _, rule := range r.Rules {
		if rule.Redirect != nil {
			continue
		}
		for _, b := range rule.Backends {
			if b.Invalid || b.Weight == 0 || seen[b.Backend] {
				continue
			}
			seen[b.Backend] = true
			for _, gateway := range r.Gateways {
				emit(plan.BackendUser{Route: route, Gateway: gateway, Backend: b.Backend}, struct{}{})
			}
		}
	}
}

func backendOf(xbackends *input.Collection[xgatewayv1alpha1.BackendSpec]) func(*flow.Ctx, model.BackendKey, flow.Members[plan.BackendUser, struct{}]) (model.Backend, bool) {
	return func(c *flow.Ctx, key model.BackendKey, _ flow.Members[plan.BackendUser, struct{}]) (model.Backend, bool) {
		b := model.Backend{Key: key}
		if key.Object.Kind == model.KindXBackend {
			o, found := flow.Fetch(c, xbackends, key.Object)
			if !found || o.Spec.ExternalHostname == nil {
				return b, false
			}
			b.Hostname, b.HostPort = string(o.Spec.ExternalHostname.Hostname), int32(o.Spec.Port.Number)
		}
		return b, true
	}
}

type slicesByService = flow.Collection[model.ObjectRef, flow.Members[model.ObjectRef, input.Object[input.EndpointSliceSpec]]]

func endpointsOf(services *services, slices *slicesByService) func(*flow.Ctx, model.BackendKey, flow.Members[plan.BackendUser, struct{}]) (model.Endpoints, bool) {
	return func(c *flow.Ctx, key model.BackendKey, _ flow.Members[plan.BackendUser, struct{}]) (model.Endpoints, bool) {
		if key.Object.Kind != model.KindService {
			return model.Endpoints{}, false
		}
		service, _ := flow.Fetch(c, services, key.Object)
		port, found := resolve.ServicePort(service.Spec, key.Port)
		if !found {
			return model.Endpoints{}, false
		}
		members, _ := flow.Fetch(c, slices, key.Object)
		var specs iter.Seq[input.EndpointSliceSpec] = func(yield func(input.EndpointSliceSpec) bool) {
			for _, o := range members.All() {
				if !yield(o.Spec) {
					return
				}
			}
		}
		return model.Endpoints{Key: key, Addresses: resolve.Endpoints(port.Name, specs)}, true
	}
}
