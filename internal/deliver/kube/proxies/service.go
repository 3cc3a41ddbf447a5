package proxies

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// service renders the Service in front of the proxies.
func (r *renderer) service() *corev1ac.ServiceApplyConfiguration {
	settings := r.parameters.Service
	spec := corev1ac.ServiceSpec().
		WithType(cmp.Or(settings.Type, corev1.ServiceTypeLoadBalancer)).
		WithSelector(podSelector(r.proxy))
	if settings.ExternalTrafficPolicy != "" {
		spec.WithExternalTrafficPolicy(settings.ExternalTrafficPolicy)
	}
	if *spec.Type == corev1.ServiceTypeLoadBalancer {
		if settings.LoadBalancerClass != nil {
			spec.WithLoadBalancerClass(*settings.LoadBalancerClass)
		}
		if address := requested(r.proxy); address != "" {
			spec.WithLoadBalancerIP(address)
		}
	}
	for _, p := range r.proxy.Ports {
		spec.WithPorts(corev1ac.ServicePort().
			WithName(strings.ToLower(fmt.Sprintf("%s-%d", p.Transport, p.Number))).WithProtocol(corev1.Protocol(p.Transport)).
			WithPort(p.Number).WithTargetPort(intstr.FromInt32(p.Bind)))
	}
	return corev1ac.Service(r.proxy.Name, r.ref.Namespace()).
		WithLabels(labels(r.ref, r.proxy, settings.Labels)).WithAnnotations(
		annotations(r.ref, r.proxy, settings.Annotations),
	).
		WithOwnerReferences(owner(r.ref, r.proxy)).
		WithSpec(spec)
}

// requested is the address to ask a load balancer for; it can be asked for one only.
func requested(p plan.Proxy) string {
	for _, a := range p.Addresses {
		if !a.Hostname {
			return a.Value
		}
	}
	return ""
}

// frontOf is the front of a Gateway's proxies for a Service; s may be nil.
//
// A Service without a port is invalid. So an existing Service stays when the last port is removed: a load balancer that
// is given up gets another address the next time.
//
// The addresses of a load balancer are in its status. A Service of type ClusterIP or NodePort has its cluster IPs: node
// ports differ from the listeners' ports.
func frontOf(p plan.Proxy, s *corev1.Service) model.Front {
	switch {
	case s == nil && len(p.Ports) == 0:
		return model.Front{Reason: "AddressNotAssigned", Message: "there is no Service: no listener has a port for it"}
	case s == nil || s.DeletionTimestamp != nil:
		return model.Front{}
	}
	var f model.Front
	add := func(a model.Address) {
		if a.Value != "" && a.Value != corev1.ClusterIPNone {
			f.Addresses = append(f.Addresses, a)
		}
	}
	for _, ip := range s.Spec.ExternalIPs {
		add(model.Address{Value: ip})
	}
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
		for _, i := range s.Status.LoadBalancer.Ingress {
			add(model.Address{Value: i.IP})
			add(model.Address{Hostname: true, Value: i.Hostname})
		}
	} else {
		for _, ip := range s.Spec.ClusterIPs {
			add(model.Address{Value: ip})
		}
	}
	slices.SortFunc(f.Addresses, func(a, b model.Address) int { return strings.Compare(a.Value, b.Value) })
	f.Addresses = slices.Compact(f.Addresses)
	missing := slices.DeleteFunc(slices.Clone(p.Addresses),
		func(a model.Address) bool { return slices.Contains(f.Addresses, a) })
	switch {
	case len(missing) == 0:
	case len(f.Addresses) == 0:
		f.Reason, f.Message = "AddressNotUsable", fmt.Sprintf("Service %s did not get %s", s.Name, list(missing))
	default:
		f.Reason = "AddressNotUsable"
		f.Message = fmt.Sprintf("Service %s did not get %s; it has %s", s.Name, list(missing), list(f.Addresses))
	}
	return f
}

func list(addresses []model.Address) string {
	var words []string
	for _, a := range addresses {
		words = append(words, a.Value)
	}
	return strings.Join(words, ", ")
}
