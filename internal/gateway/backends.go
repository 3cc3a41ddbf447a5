package gateway

import (
	"fmt"
	"net/netip"

	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resolve"
)

// unsupportedXBackend says what of an XBackend can't be served.
func unsupportedXBackend(spec *xgatewayv1alpha1.BackendSpec) (reason, message string) {
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

// backendsOf lists the backends that a route needs, on each Gateway where it serves.
func backendsOf(_ model.ObjectRef, r model.Route) []plan.BackendKey {
	var list []plan.BackendKey
	for _, place := range r.Places {
		for _, rule := range r.Rules {
			for _, key := range rule.Uses() {
				list = append(list, plan.BackendKey{Gateway: place.Gateway, Backend: key})
			}
		}
	}
	return list
}

type slicesByService = flow.Collection[model.ObjectRef, flow.Members[model.ObjectRef, input.Object[input.EndpointSliceSpec]]]

// backends is where backends and their endpoints are looked up.
type backends struct {
	services  *services
	slices    *slicesByService
	xbackends *input.Collection[xgatewayv1alpha1.BackendSpec]
}

func (in backends) backend(c *flow.Ctx, key plan.BackendKey, _ flow.Members[model.ObjectRef, model.Route]) (model.Backend, bool) {
	b := model.Backend{Key: key.Backend}
	if b.Key.Object.Kind() != model.KindXBackend {
		b.Endpoints = in.endpoints(c, b.Key)
		return b, true
	}
	o, found := flow.Fetch(c, in.xbackends, b.Key.Object)
	if !found || o.Spec.ExternalHostname == nil {
		return b, false
	}
	b.Hostname, b.HostPort = string(o.Spec.ExternalHostname.Hostname), int32(o.Spec.Port.Number)
	return b, true
}

func (in backends) endpoints(c *flow.Ctx, key model.BackendKey) []model.Endpoint {
	service, found := flow.Fetch(c, in.services, key.Object)
	if !found {
		return nil
	}
	port, found := resolve.ServicePort(service.Spec, key.Port)
	if !found {
		return nil
	}
	members, _ := flow.Fetch(c, in.slices, key.Object)
	return resolve.Endpoints(port.Name, func(yield func(*input.EndpointSliceSpec) bool) {
		for _, o := range members.All() {
			if !yield(o.Spec) {
				return
			}
		}
	})
}
