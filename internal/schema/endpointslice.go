package schema

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxEndpoints = 1000
	maxAddresses = 100
	maxPorts     = 20000
)

func defaultEndpointSlice(e *discoveryv1.EndpointSlice) {
	for i := range e.Ports {
		p := &e.Ports[i]
		if p.Name == nil {
			p.Name = new(string)
		}
		if p.Protocol == nil {
			p.Protocol = new(corev1.ProtocolTCP)
		}
	}
}

// validateEndpointSlice differs from an API server in one rule: loopback addresses are welcome, since with a folder the
// backends often run beside the proxy.
func validateEndpointSlice(e *discoveryv1.EndpointSlice) field.ErrorList {
	var errs field.ErrorList
	types := sets.New(discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6, discoveryv1.AddressTypeFQDN)
	switch {
	case e.AddressType == "":
		return field.ErrorList{field.Required(field.NewPath("addressType"), "IPv4, IPv6 or FQDN")}
	case !types.Has(e.AddressType):
		return field.ErrorList{field.NotSupported(field.NewPath("addressType"), e.AddressType, sets.List(types))}
	}
	endpoints := field.NewPath("endpoints")
	if len(e.Endpoints) > maxEndpoints {
		errs = append(errs, field.TooMany(endpoints, len(e.Endpoints), maxEndpoints))
	}
	for i, endpoint := range e.Endpoints {
		errs = append(errs, validateAddresses(e.AddressType, endpoint.Addresses, endpoints.Index(i).Child("addresses"))...)
	}
	return append(errs, validateEndpointPorts(e.Ports)...)
}

func validateAddresses(kind discoveryv1.AddressType, addresses []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case len(addresses) == 0:
		return field.ErrorList{field.Required(path, "at least one address")}
	case len(addresses) > maxAddresses:
		return field.ErrorList{field.TooMany(path, len(addresses), maxAddresses)}
	}
	for i, address := range addresses {
		at := path.Index(i)
		switch kind {
		case discoveryv1.AddressTypeIPv4:
			if ip, err := netip.ParseAddr(address); err != nil || !ip.Is4() {
				errs = append(errs, field.Invalid(at, address, "must be an IPv4 address"))
			}
		case discoveryv1.AddressTypeIPv6:
			if ip, err := netip.ParseAddr(address); err != nil || !ip.Is6() || ip.Zone() != "" {
				errs = append(errs, field.Invalid(at, address, "must be an IPv6 address"))
			}
		case discoveryv1.AddressTypeFQDN:
			errs = append(errs, validation.IsFullyQualifiedDomainName(at, address)...)
		}
	}
	return errs
}

func validateEndpointPorts(ports []discoveryv1.EndpointPort) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("ports")
	if len(ports) > maxPorts {
		errs = append(errs, field.TooMany(path, len(ports), maxPorts))
	}
	names := sets.New[string]()
	for i, p := range ports {
		at := path.Index(i)
		if names.Has(*p.Name) {
			errs = append(errs, field.Duplicate(at.Child("name"), *p.Name))
		}
		names.Insert(*p.Name)
		if *p.Name != "" {
			for _, m := range validation.IsDNS1123Label(*p.Name) {
				errs = append(errs, field.Invalid(at.Child("name"), *p.Name, m))
			}
		}
		errs = append(errs, validateProtocol(*p.Protocol, at.Child("protocol"))...)
		if p.Port != nil {
			for _, m := range validation.IsValidPortNum(int(*p.Port)) {
				errs = append(errs, field.Invalid(at.Child("port"), *p.Port, m))
			}
		}
	}
	return errs
}
