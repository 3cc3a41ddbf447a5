package backend

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
	"cardea.dev/cardea/internal/translate/resolve"
)

// serviceKind are Services. The cluster finds their pods.
type serviceKind struct {
	services       *input.Collection[corev1.ServiceSpec]
	policies       tlsPolicies
	endpointSlices *slicesByBackend
	broken         *input.BrokenObjects
}

func (in serviceKind) Refer(
	c *flow.Ctx, ref model.ObjectRef, port *gatewayv1.PortNumber, carries model.Carried,
) (read Referred) {
	if port != nil {
		read.Key.Port = int32(*port)
	}
	o, found := flow.Fetch(c, in.services, ref)
	if !found {
		read.Unusable = problem.Unusable{Reason: "BackendNotFound", Message: input.DescribeAbsent(c, in.broken, ref)}
		return read
	}
	if o.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		read.Affinity = "a sessionAffinity of its own"
	}
	own, found := resolve.ServicePort(o.Spec, read.Key.Port, carries.Transport())
	switch {
	case o.Spec.Type == corev1.ServiceTypeExternalName:
		read.Unusable = problem.Unusable{Reason: "UnsupportedProtocol", Message: fmt.Sprintf(
			"%s is of type ExternalName; use an XBackend of type ExternalHostname", ref)}
	case !found:
		read.Unusable = problem.Unusable{Reason: "BackendNotFound",
			Message: noPort(ref, o.Spec, read.Key.Port, carries.Transport())}
	case own.AppProtocol == nil:
	default:
		app := *own.AppProtocol
		if !in.canSpeak(c, ref, own) {
			read.NoHTTP = problem.Unusable{Reason: "UnsupportedProtocol",
				Message: fmt.Sprintf("%s has appProtocol %q on port %d; %s", ref, app,
					read.Key.Port, otherProtocol(app))}
		}
		if resolve.IsHTTP1Only(&app) {
			read.HTTP1 = fmt.Sprintf("appProtocol %q on port %d", app, read.Key.Port)
		}
	}
	return read
}

// canSpeak tells whether a port's appProtocol can be spoken: without TLS, or by a BackendTLSPolicy over it.
func (in serviceKind) canSpeak(c *flow.Ctx, ref model.ObjectRef, port corev1.ServicePort) bool {
	if _, ok := resolve.ProtocolOf(port.AppProtocol); ok {
		return true
	}
	_, ok := resolve.ProtocolOverTLS(port.AppProtocol)
	return ok && in.policies.hasPolicy(c, ref, port.Name)
}

// noPort says which ports a Service has in place of the one that it has not.
func noPort(ref model.ObjectRef, service *corev1.ServiceSpec, number int32, transport model.Transport) string {
	var ports []string
	what := "port"
	for _, p := range service.Ports {
		if !resolve.IsOver(p.Protocol, transport) {
			if p.Port == number {
				what = string(transport) + " port"
			}
			continue
		}
		if p.Name == "" {
			ports = append(ports, fmt.Sprint(p.Port))
		} else {
			ports = append(ports, fmt.Sprintf("%d (%s)", p.Port, p.Name))
		}
	}
	if len(ports) == 0 {
		return fmt.Sprintf("%s has no %s %d; it has no port for %s", ref, what, number, transport)
	}
	return fmt.Sprintf("%s has no %s %d; it has %s", ref, what, number, model.JoinSome(ports))
}

// otherProtocol says what to do about an appProtocol that can't be spoken.
func otherProtocol(app string) string {
	if _, ok := resolve.ProtocolOverTLS(&app); ok {
		return "this means TLS, but a Service does not state which CAs to trust; target it by a BackendTLSPolicy"
	}
	return "http, kubernetes.io/h2c and kubernetes.io/ws are supported"
}

func (in serviceKind) Backend(c *flow.Ctx, key model.BackendKey) (b model.Backend, served bool) {
	service, found := flow.Fetch(c, in.services, key.Object)
	if !found {
		return b, true
	}
	port, found := resolve.ServicePort(service.Spec, key.Port, key.Carries.Transport())
	if !found {
		return b, true
	}
	if policy, found := in.policies.findPolicy(c, key.Object, port.Name); found {
		b.TLS = policy.TLS
		b.Protocol, _ = resolve.ProtocolOverTLS(port.AppProtocol)
	} else {
		b.Protocol, _ = resolve.ProtocolOf(port.AppProtocol)
	}
	b.Endpoints = resolve.EndpointsOfPort(port.Name, key.Carries.Transport(),
		slicesOf(c, in.endpointSlices, key.Object))
	return b, true
}
