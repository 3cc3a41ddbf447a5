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

// early changes headers before anything else looks at them.
func (s *simulation) early(m *hcmv3.HttpConnectionManager) {
	for _, extension := range m.GetEarlyHeaderMutationExtensions() {
		config := new(earlyv3.HeaderMutation)
		if extension.GetTypedConfig().UnmarshalTo(config) != nil {
			s.missing("HttpConnectionManager." + extension.GetName())
			continue
		}
		s.survey(config, "mutations")
		for _, change := range config.GetMutations() {
			for _, e := range s.mutation(change, s.request, false) {
				e.Apply(s.request.Header)
			}
		}
	}
	join(s.request.Header)
}

// edge says where a request comes from, for a connection manager that uses the address of its peer. It may trust some
// proxies before it.
func (s *simulation) edge(m *hcmv3.HttpConnectionManager) {
	h, hops := s.request.Header, int(m.GetXffNumTrustedHops())
	for _, name := range edgeHeaders {
		h.Del("x-envoy-" + name)
	}
	client := request.ClientAddress
	if hops > 0 {
		client = fromEnd(h.Get("X-Forwarded-For"), hops)
	} else {
		h.Del("X-Forwarded-Proto")
	}
	if !m.GetSkipXffAppend() {
		appendForwarded(h)
	}
	h.Set("X-Envoy-External-Address", client)
}

// pass notes what has to be so for the request to get further. Behind a load balancer a connection's address is the
// load balancer's, so a verdict by address says so.
func (s *simulation) pass(v request.Verdict) {
	if v.ByAddress && s.ofPeer {
		const whose = ", by the connection's address: no ClientPolicy of the listener finds another"
		if v.RefusedIf != "" {
			v.RefusedIf += whose
		} else {
			v.If += whose
		}
	}
	s.gates = append(s.gates, v)
}

// fromEnd is an address of X-Forwarded-For, counted from its end; that of the connection if there is none.
func fromEnd(forwarded string, n int) string {
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
	join(h)
}

// detect finds the client's address by extensions. Backends are not told the address that they find. It tells whether
// the request goes on.
func (s *simulation) detect(m *hcmv3.HttpConnectionManager) bool {
	for _, extension := range m.GetOriginalIpDetectionExtensions() {
		xff, custom := new(xffv3.XffConfig), new(customv3.CustomHeaderConfig)
		switch {
		case extension.GetTypedConfig().UnmarshalTo(xff) == nil:
			s.survey(xff, "xff_trusted_cidrs", "skip_xff_append")
			if xff.GetSkipXffAppend() == nil || xff.GetSkipXffAppend().GetValue() { // but of a peer that is not trusted
				s.missing("whether X-Forwarded-For is added to")
			} else {
				appendForwarded(s.request.Header)
			}
		case extension.GetTypedConfig().UnmarshalTo(custom) == nil:
			s.survey(custom, "header_name", "reject_with_status")
			values := append(s.request.Header.Values(custom.GetHeaderName()), "")
			if _, err := netip.ParseAddr(values[0]); err != nil && custom.GetRejectWithStatus() != nil {
				s.refuse(int(custom.GetRejectWithStatus().GetCode()), "its header %s has no address", custom.GetHeaderName())
				return false
			}
		default:
			s.missing("HttpConnectionManager." + extension.GetName())
		}
	}
	return true
}
