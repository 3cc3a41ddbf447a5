package simulate

import (
	"net/http"
	"net/netip"
	"strings"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	earlyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/header_mutation/v3"
	customv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/original_ip_detection/custom_header/v3"
	xffv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/original_ip_detection/xff/v3"

	"cardea.dev/cardea/internal/core/request"
)

// applyEarlyMutations changes headers before anything else looks at them.
func (s *simulation) applyEarlyMutations(m *hcmv3.HttpConnectionManager) {
	for _, extension := range m.GetEarlyHeaderMutationExtensions() {
		config := new(earlyv3.HeaderMutation)
		if extension.GetTypedConfig().UnmarshalTo(config) != nil {
			s.noteNotSimulated("HttpConnectionManager." + extension.GetName())
			continue
		}
		s.noteUnknownFields(config, "mutations")
		for _, change := range config.GetMutations() {
			for _, e := range s.mutationEdits(change, s.current, false) {
				e.ApplyTo(s.current.Header)
			}
		}
	}
	joinHeaders(s.current.Header)
}

// setEdgeHeaders says where a request comes from, for a connection manager that uses the address of its peer. It may
// trust some proxies before it.
func (s *simulation) setEdgeHeaders(m *hcmv3.HttpConnectionManager) {
	h, hops := s.current.Header, int(m.GetXffNumTrustedHops())
	for _, name := range edgeHeaders {
		h.Del("x-envoy-" + name)
	}
	client := request.ClientAddress
	if hops > 0 {
		client = addressFromEnd(h.Get("X-Forwarded-For"), hops)
	} else {
		h.Del("X-Forwarded-Proto")
	}
	if !m.GetSkipXffAppend() {
		appendForwarded(h)
	}
	h.Set("X-Envoy-External-Address", client)
}

// recordGate notes what has to be so for the request to get further. Behind a load balancer a connection's address is
// the load balancer's, so a verdict by address says so.
func (s *simulation) recordGate(v request.Verdict) {
	if v.ByAddress && s.usesPeerAddress {
		const whose = ", by the connection's address: no ClientPolicy of the listener finds another"
		if v.RefusedIf != "" {
			v.RefusedIf += whose
		} else {
			v.If += whose
		}
	}
	s.gates = append(s.gates, v)
}

// addressFromEnd is an address of X-Forwarded-For, counted from its end; that of the connection if there is none.
func addressFromEnd(forwarded string, n int) string {
	list := strings.Split(forwarded, ",")
	if n > len(list) {
		return request.ClientAddress
	}
	address, err := netip.ParseAddr(strings.TrimSpace(list[len(list)-n]))
	if err != nil {
		return request.ClientAddress
	}
	return address.String()
}

func appendForwarded(h http.Header) {
	h.Add("X-Forwarded-For", request.ClientAddress)
	joinHeaders(h)
}

// detectClientAddress finds the client's address by extensions. Backends are not told the address that they find. It
// tells whether the request goes on.
func (s *simulation) detectClientAddress(m *hcmv3.HttpConnectionManager) bool {
	for _, extension := range m.GetOriginalIpDetectionExtensions() {
		xff, custom := new(xffv3.XffConfig), new(customv3.CustomHeaderConfig)
		switch {
		case extension.GetTypedConfig().UnmarshalTo(xff) == nil:
			s.noteUnknownFields(xff, "xff_trusted_cidrs", "skip_xff_append")
			if xff.GetSkipXffAppend() == nil || xff.GetSkipXffAppend().GetValue() { // but of a peer that is not trusted
				s.noteNotSimulated("whether X-Forwarded-For is added to")
			} else {
				appendForwarded(s.current.Header)
			}
		case extension.GetTypedConfig().UnmarshalTo(custom) == nil:
			s.noteUnknownFields(custom, "header_name", "reject_with_status")
			values := append(s.current.Header.Values(custom.GetHeaderName()), "")
			if _, err := netip.ParseAddr(values[0]); err != nil && custom.GetRejectWithStatus() != nil {
				s.refuseRequest(int(custom.GetRejectWithStatus().GetCode()), "its header %s has no address", custom.GetHeaderName())
				return false
			}
		default:
			s.noteNotSimulated("HttpConnectionManager." + extension.GetName())
		}
	}
	return true
}
