package resolve

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// ServicePort finds a port of a Service by its number and its transport.
func ServicePort(service *corev1.ServiceSpec, number int32, transport model.Transport) (corev1.ServicePort, bool) {
	for _, p := range service.Ports {
		if p.Port == number && IsOver(p.Protocol, transport) {
			return p, true
		}
	}
	return corev1.ServicePort{}, false
}

// IsOver tells whether a port's protocol is a transport; "" is TCP.
func IsOver(p corev1.Protocol, transport model.Transport) bool {
	return string(cmp.Or(p, corev1.ProtocolTCP)) == string(transport)
}

// ProtocolOf tells what a Service port's appProtocol means for HTTP (GEP-1911); not ok: it can't be spoken. TLS needs
// to be told whom to trust, which appProtocol does not.
func ProtocolOf(app *string) (protocol model.BackendProtocol, ok bool) {
	switch appProtocol(app) {
	case "", "http", wsProtocol:
		return model.HTTP1, true
	case h2cProtocol:
		return model.HTTP2, true
	}
	return "", false
}

// ProtocolOverTLS is the same of a port for which it is told whom to trust.
func ProtocolOverTLS(app *string) (protocol model.BackendProtocol, ok bool) {
	switch appProtocol(app) {
	case "", "http", "https":
		return model.NegotiatedHTTP, true
	case wsProtocol, wssProtocol:
		return model.HTTP1, true
	case h2cProtocol:
		return model.HTTP2, true
	}
	return "", false
}

// IsHTTP1Only tells whether an appProtocol says that only HTTP/1.1 is spoken.
func IsHTTP1Only(app *string) bool {
	name := appProtocol(app)
	return name == wsProtocol || name == wssProtocol
}

// appProtocol values of Kubernetes. Others are IANA's names, which have no case.
const (
	wsProtocol  = "kubernetes.io/ws"
	wssProtocol = "kubernetes.io/wss"
	h2cProtocol = "kubernetes.io/h2c"
)

func appProtocol(app *string) string {
	if app == nil {
		return ""
	}
	return strings.ToLower(*app)
}

// EndpointsOfPort collects the addresses that may get requests for the named port, from all slices of a Service: those
// that are ready; if there is none, those that still serve while they terminate. Sorted, each once.
func EndpointsOfPort(
	port string, transport model.Transport, slicesOfService iter.Seq[*input.EndpointSliceSpec],
) []model.Endpoint {
	return collectEndpoints(slicesOfService, func(s *input.EndpointSliceSpec) []int32 {
		if number, is := slicePort(s.Ports, port, transport); is {
			return []int32{number}
		}
		return nil
	})
}

// EndpointsAt collects the same addresses, each at all of some ports that are stated elsewhere, whichever ports the
// slices have.
func EndpointsAt(ports []int32, all iter.Seq[*input.EndpointSliceSpec]) []model.Endpoint {
	return collectEndpoints(all, func(*input.EndpointSliceSpec) []int32 { return ports })
}

func collectEndpoints(
	all iter.Seq[*input.EndpointSliceSpec], portsOf func(*input.EndpointSliceSpec) []int32,
) []model.Endpoint {
	var ready, terminating []model.Endpoint
	for slice := range all {
		if slice.AddressType == discoveryv1.AddressTypeFQDN {
			continue
		}
		numbers := portsOf(slice)
		for _, e := range slice.Endpoints {
			// An endpoint's addresses are interchangeable; the API says that the first is to be used.
			if len(e.Addresses) == 0 {
				continue
			}
			isReady, isTerminating := endpointState(e.Conditions)
			for _, number := range numbers {
				endpoint := model.Endpoint{Address: e.Addresses[0], Port: number}
				switch {
				case isReady:
					ready = append(ready, endpoint)
				case isTerminating:
					terminating = append(terminating, endpoint)
				}
			}
		}
	}
	if len(ready) == 0 {
		ready = terminating
	}
	slices.SortFunc(ready, func(a, b model.Endpoint) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port))
	})
	return slices.Compact(ready)
}

// endpointState tells whether an endpoint may get requests: it is ready, or it still serves while it terminates.
func endpointState(is discoveryv1.EndpointConditions) (ready, terminating bool) {
	// Ready is what the cluster says it is, even for one that terminates (publishNotReadyAddresses).
	ending := isTrue(is.Terminating, false)
	ready = isTrue(is.Ready, !ending)
	return ready, !ready && ending && isTrue(is.Serving, true)
}

// HasEndpoints tells whether anybody gets the requests to a Service, by all its slices.
func HasEndpoints(slicesOfService iter.Seq[*input.EndpointSliceSpec]) bool {
	for slice := range slicesOfService {
		for _, e := range slice.Endpoints {
			if ready, terminating := endpointState(e.Conditions); (ready || terminating) && len(e.Addresses) > 0 {
				return true
			}
		}
	}
	return false
}

// slicePort finds the number of a port by its name; a Service with one unnamed port has slices with one unnamed port.
func slicePort(ports []discoveryv1.EndpointPort, name string, transport model.Transport) (int32, bool) {
	for _, p := range ports {
		if p.Port == nil || p.Protocol != nil && !IsOver(*p.Protocol, transport) ||
			p.Protocol == nil && transport != model.TransportTCP {
			continue
		}
		if (p.Name == nil && name == "") || (p.Name != nil && *p.Name == name) {
			return *p.Port, true
		}
	}
	return 0, false
}

func isTrue(b *bool, unset bool) bool {
	if b == nil {
		return unset
	}
	return *b
}
