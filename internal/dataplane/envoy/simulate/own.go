package simulate

import (
	"cmp"
	"net/http"
	"strings"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"cardea.dev/cardea/internal/core/request"
)

// internalHeaders are those by which only Envoy's own side may tell it what to do.
var internalHeaders = strings.Fields(`expected-rq-timeout-ms force-trace hedge-on-per-try-timeout internal ip-tags
	max-retries original-url retriable-header-names retriable-status-codes retry-grpc-on retry-on upstream-alt-stat-name
	upstream-rq-per-try-timeout-ms upstream-rq-timeout-alt-response upstream-rq-timeout-ms upstream-stream-duration-ms`)

// edgeHeaders are those that clients may send no more than internalHeaders to a connection manager that uses the
// address of its peer.
var edgeHeaders = strings.Fields(`decorator-operation downstream-service-cluster downstream-service-node
	external-address original-host original-path`)

// replaceClaims replaces what a client claims about itself and its way by what the connection manager knows. One that
// is not told to use the address of its peer believes the client. It tells whether the request goes on.
func (s *simulation) replaceClaims(m *hcmv3.HttpConnectionManager) bool {
	h := s.current.Header
	s.setClientCertificate(m)
	edge := m.GetUseRemoteAddress().GetValue()
	s.usesPeerAddress = s.usesPeerAddress && edge && m.GetXffNumTrustedHops() == 0
	if edge {
		s.setEdgeHeaders(m)
	} else if !s.detectClientAddress(m) {
		return false
	}
	for _, name := range internalHeaders {
		h.Del("x-envoy-" + name)
	}
	if h.Get("X-Forwarded-Proto") == "" {
		h.Set("X-Forwarded-Proto", s.current.Scheme())
	}
	makes := m.GetGenerateRequestId() == nil || m.GetGenerateRequestId().GetValue()
	if makes && (edge && !m.GetPreserveExternalRequestId() || h.Get("X-Request-Id") == "") {
		h.Set("X-Request-Id", request.GeneratedID)
	}
	if m.GetVia() != "" {
		h.Add("Via", m.GetVia())
		h.Set("Via", strings.Join(h.Values("Via"), ", "))
	}
	return true
}

// setClientCertificate is what backends are told of the client's. Which one a client shows is not known.
func (s *simulation) setClientCertificate(m *hcmv3.HttpConnectionManager) {
	s.current.Header.Del("X-Forwarded-Client-Cert")
	if m.GetForwardClientCertDetails() != hcmv3.HttpConnectionManager_SANITIZE && s.current.TLS {
		s.current.Header.Set("X-Forwarded-Client-Cert", request.ClientCertificate)
	}
}

// serverName is what a connection manager calls itself unless it is told a name.
const serverName = "envoy"

// managerEdits are the edits by which a connection manager says in answers that they passed it.
func (s *simulation) managerEdits() (list []request.HeaderChange) {
	name := cmp.Or(s.manager.GetServerName(), serverName)
	switch s.manager.GetServerHeaderTransformation() {
	case hcmv3.HttpConnectionManager_OVERWRITE:
		list = append(list, request.HeaderChange{Action: request.Set, Name: "server", Value: name})
	case hcmv3.HttpConnectionManager_APPEND_IF_ABSENT:
		list = append(list, request.HeaderChange{Action: request.Default, Name: "server", Value: name})
	}
	if s.manager.GetVia() != "" {
		list = append(list, request.HeaderChange{Action: request.Append, Name: "via", Value: s.manager.GetVia()})
	}
	return list
}

// joinedHeaders are the headers that Envoy makes into one if they come twice: "a" and "b" are "a,b". Others stay two.
var joinedHeaders = strings.Fields(`accept accept-encoding access-control-request-headers
	access-control-request-method authorization cache-control cdn-loop connection content-encoding content-type expect
	grpc-accept-encoding grpc-timeout if-match
	if-modified-since if-none-match if-range if-unmodified-since keep-alive origin pragma proxy-connection
	proxy-status referer te transfer-encoding upgrade user-agent via x-client-trace-id x-envoy-attempt-count
	x-envoy-external-address x-envoy-is-timeout-retry x-forwarded-for x-forwarded-host x-forwarded-port
	x-forwarded-proto x-request-id`)

// joinHeaders joins the values of a request's headers as Envoy does. Empty ones leave nothing.
func joinHeaders(h http.Header) {
	for _, name := range joinedHeaders {
		values := h.Values(name)
		if len(values) < 2 {
			continue
		}
		text := ""
		for _, value := range values {
			if text != "" && value != "" {
				text += ","
			}
			text += value
		}
		h.Set(name, text)
	}
}
