package simulate

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"cardea.dev/cardea/internal/core/request"
)

// Limits of a connection manager that states none: in KiB, the request line included, and of headers, Host included.
const (
	defaultHeadersKB    = 60
	defaultHeadersCount = 100
)

// methods are those that Envoy knows in HTTP/1.1; case counts. In HTTP/2 it takes all.
var methods = strings.Fields(`ACL BIND CHECKOUT CONNECT COPY DELETE GET HEAD LINK LOCK MERGE MKACTIVITY
	MKCALENDAR MKCOL MOVE MSEARCH NOTIFY OPTIONS PATCH POST PROPFIND PROPPATCH PURGE PUT QUERY REBIND REPORT SEARCH
	SOURCE SUBSCRIBE TRACE UNBIND UNLINK UNLOCK UNSUBSCRIBE`)

// noHost are the printable characters that no host has.
const noHost = "\"#/<>?\\^`{|}"

// refuseRequest answers a request before a route is looked for.
func (s *simulation) refuseRequest(status int, why string, args ...any) {
	s.result.Refused = fmt.Sprintf(why, args...)
	s.addAnswer(status)
}

// checkCodec tells whether the codec takes a request. HTTP/1.1 is what a client speaks without TLS, but for gRPC; where
// HTTP/2 decides otherwise and the client may speak it, nothing is said.
func (s *simulation) checkCodec(m *hcmv3.HttpConnectionManager) bool {
	status, why := checkHTTP1(m, s.current)
	switch {
	case status == 0:
		s.dropUnderscored(m)
		return true
	case s.current.TLS || isGRPC(s.current):
		s.setUndecided("whether the client speaks HTTP/2, or HTTP/1.1 where " + why)
	default:
		s.refuseRequest(status, "%s", why)
	}
	return false
}

// checkHTTP1 returns the status by which a codec of HTTP/1.1 rejects a request, and why; 0 if it doesn't. Headers that
// a client adds by itself are not known.
func checkHTTP1(m *hcmv3.HttpConnectionManager, r request.Request) (status int, why string) {
	limit := defaultHeadersKB
	if m.GetMaxRequestHeadersKb() != nil {
		limit = int(m.GetMaxRequestHeadersKb().GetValue())
	}
	most := defaultHeadersCount
	if m.GetCommonHttpProtocolOptions().GetMaxHeadersCount() != nil {
		most = int(m.GetCommonHttpProtocolOptions().GetMaxHeadersCount().GetValue())
	}
	size, count := headSize(r)
	strange := func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune(noHost, c) }
	switch {
	case size > limit<<10:
		return http.StatusRequestHeaderFieldsTooLarge,
			fmt.Sprintf("request line and headers have %d bytes, at most %d are accepted", size, limit<<10)
	case !slices.Contains(methods, r.Method) && !m.GetHttpProtocolOptions().GetAllowCustomMethods():
		return http.StatusBadRequest, fmt.Sprintf("there is no method %q", r.Method)
	case r.Method == http.MethodConnect && strings.HasPrefix(r.Path, "/"):
		return http.StatusBadRequest, "CONNECT names a host and a port, and no path"
	case count > most:
		return http.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf("there are %d headers, at most %d are accepted",
			count, most)
	case rejectsUnderscores(m, r.Header):
		return http.StatusBadRequest, "the name of a header has an underscore"
	case checkConnection(r) != "":
		return http.StatusBadRequest, checkConnection(r)
	case strings.ContainsFunc(r.Host, strange):
		return http.StatusBadRequest, fmt.Sprintf("%q is no host", r.Host)
	}
	return 0, ""
}

// rejectsUnderscores tells whether a codec refuses headers for their names.
func rejectsUnderscores(m *hcmv3.HttpConnectionManager, h http.Header) bool {
	for name := range h {
		if strings.Contains(name, "_") {
			return m.GetCommonHttpProtocolOptions().GetHeadersWithUnderscoresAction() ==
				corev3.HttpProtocolOptions_REJECT_REQUEST
		}
	}
	return false
}

// dropUnderscored takes away headers for their names.
func (s *simulation) dropUnderscored(m *hcmv3.HttpConnectionManager) {
	if m.GetCommonHttpProtocolOptions().GetHeadersWithUnderscoresAction() != corev3.HttpProtocolOptions_DROP_HEADER {
		return
	}
	for name := range s.current.Header {
		if strings.Contains(name, "_") {
			s.current.Header.Del(name)
		}
	}
}

// headSize is the size of a request line and its headers in HTTP/1.1, and how many headers they are.
func headSize(r request.Request) (size, count int) {
	size = len(r.Method+" "+r.Path+" HTTP/1.1\r\nHost: "+r.Host+"\r\n") + len("\r\n")
	count = 1
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name + ": " + value + "\r\n")
			count++
		}
	}
	return size, count
}
