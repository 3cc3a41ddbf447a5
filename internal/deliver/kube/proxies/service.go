package proxies

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// renderService renders the Service in front of the proxies.
func (r *renderer) renderService() fields {
	settings := r.parameters.Service
	kind := cmp.Or(settings.Type, corev1.ServiceTypeLoadBalancer)
	spec := fields{"type": kind, "selector": podSelector(r.proxy)}
	if settings.ExternalTrafficPolicy != "" {
		spec["externalTrafficPolicy"] = settings.ExternalTrafficPolicy
	}
	if kind == corev1.ServiceTypeLoadBalancer {
		if settings.LoadBalancerClass != nil {
			spec["loadBalancerClass"] = *settings.LoadBalancerClass
		}
		if address := requestedAddress(r.proxy); address != "" {
			spec["loadBalancerIP"] = address
		}
	}
	var ports []fields
	for _, p := range r.proxy.Ports {
		ports = append(ports, fields{"name": strings.ToLower(fmt.Sprintf("%s-%d", p.Transport, p.Number)),
			"protocol": p.Transport, "port": p.Number, "targetPort": p.Bind})
	}
	spec["ports"] = ports
	o := r.object(service, settings.Labels, settings.Annotations)
	o["spec"] = spec
	return o
}

// requestedAddress is the address to ask a load balancer for; it can be asked for one only.
func requestedAddress(p plan.ProxySpec) string {
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
func frontOf(p plan.ProxySpec, s *corev1.Service) model.Front {
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
		f.Reason, f.Message = "AddressNotUsable", fmt.Sprintf("Service %s did not get %s", s.Name, joinAddresses(missing))
	default:
		f.Reason = "AddressNotUsable"
		f.Message = fmt.Sprintf("Service %s did not get %s; it has %s", s.Name, joinAddresses(missing),
			joinAddresses(f.Addresses))
	}
	return f
}

func joinAddresses(addresses []model.Address) string {
	var words []string
	for _, a := range addresses {
		words = append(words, a.Value)
	}
	return strings.Join(words, ", ")
}
