package gateway

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/resolve"
)

// serviceKind are Services. The cluster finds their pods.
type serviceKind struct {
	services *input.Collection[corev1.ServiceSpec]
	policies tlsPolicies
	slices   *slicesByBackend
	broken   *broken
}

func (in serviceKind) refer(c *flow.Ctx, ref model.ObjectRef, port *gatewayv1.PortNumber) (read referred) {
	if port != nil {
		read.Key.Port = int32(*port)
	}
	o, found := flow.Fetch(c, in.services, ref)
	if !found {
		read.Unusable = unusable{"BackendNotFound", absent(c, in.broken, ref)}
		return read
	}
	if o.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		read.Affinity = "a sessionAffinity of its own"
	}
	own, found := resolve.ServicePort(o.Spec, read.Key.Port)
	switch {
	case o.Spec.Type == corev1.ServiceTypeExternalName:
		read.Unusable = unusable{"UnsupportedProtocol", fmt.Sprintf(
			"%s is of type ExternalName; use an XBackend of type ExternalHostname", ref)}
	case !found:
		read.Unusable = unusable{"BackendNotFound", noPort(ref, o.Spec, read.Key.Port)}
	case own.AppProtocol == nil:
	default:
		app := *own.AppProtocol
		if !in.spoken(c, ref, own) {
			read.Unusable = unusable{"UnsupportedProtocol", fmt.Sprintf("%s has appProtocol %q on port %d; %s", ref, app,
				read.Key.Port, otherProtocol(app))}
		}
		if resolve.ByHTTP1(&app) {
			read.HTTP1 = fmt.Sprintf("appProtocol %q on port %d", app, read.Key.Port)
		}
	}
	return read
}

// spoken tells whether a port's appProtocol can be spoken: without TLS, or by a BackendTLSPolicy over it.
func (in serviceKind) spoken(c *flow.Ctx, ref model.ObjectRef, port corev1.ServicePort) bool {
	if _, ok := resolve.Protocol(port.AppProtocol); ok {
		return true
	}
	_, ok := resolve.ProtocolOverTLS(port.AppProtocol)
	return ok && in.policies.target(c, ref, port.Name)
}

// noPort says which ports a Service has in place of the one that it has not.
func noPort(ref model.ObjectRef, service *corev1.ServiceSpec, number int32) string {
	var ports []string
	what := "port"
	for _, p := range service.Ports {
		if p.Protocol != "" && p.Protocol != corev1.ProtocolTCP {
			if p.Port == number {
				what = "TCP port"
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
		return fmt.Sprintf("%s has no %s %d; it has no port for TCP", ref, what, number)
	}
	return fmt.Sprintf("%s has no %s %d; it has %s", ref, what, number, listed(ports))
}

// otherProtocol says what to do about an appProtocol that can't be spoken.
func otherProtocol(app string) string {
	if _, ok := resolve.ProtocolOverTLS(&app); ok {
		return "that is TLS, and a Service does not say whom to trust; target it by a BackendTLSPolicy"
	}
	return "http, kubernetes.io/h2c and kubernetes.io/ws are supported"
}

func (in serviceKind) backend(c *flow.Ctx, key model.BackendKey) (b model.Backend, served bool) {
	service, found := flow.Fetch(c, in.services, key.Object)
	if !found {
		return b, true
	}
	port, found := resolve.ServicePort(service.Spec, key.Port)
	if !found {
		return b, true
	}
	if policy, found := in.policies.of(c, key.Object, port.Name); found {
		b.TLS = policy.TLS
		b.Protocol, _ = resolve.ProtocolOverTLS(port.AppProtocol)
	} else {
		b.Protocol, _ = resolve.Protocol(port.AppProtocol)
	}
	b.Endpoints = resolve.Endpoints(port.Name, slicesOf(c, in.slices, key.Object))
	return b, true
}

func (serviceKind) sliceLabel() string { return discoveryv1.LabelServiceName }

func (serviceKind) selections(*namedBackends) flow.Input[model.ObjectRef, plan.Selection] { return nil }

func (serviceKind) reports() bool { return false }
