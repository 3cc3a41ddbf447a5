package simulate

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"cardea.dev/cardea/internal/core/request"
)

// The bounds of what HTTP/1.1 of Envoy takes off a request because its Connection header says so.
const (
	maxConnectionTokens = 9
	maxTELength         = 255
)

// protectedHeaders are headers that a Connection header may not name: without them a request would seem to come from
// elsewhere.
var protectedHeaders = []string{"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"}

// splitTokens are the parts of a list, in lower case; what is empty is none.
func splitTokens(list string) (parts []string) {
	for part := range strings.SplitSeq(strings.ToLower(list), ",") {
		if part != "" {
			parts = append(parts, strings.TrimSpace(part))
		}
	}
	return parts
}

// checkConnection tells why a Connection header is refused; "" if it isn't.
func checkConnection(r request.Request) string {
	connection, _ := r.HeaderValue("Connection")
	list := splitTokens(connection)
	if len(list) > maxConnectionTokens {
		return "its Connection header names too much"
	}
	for _, name := range list {
		te, _ := r.HeaderValue("Te")
		if strings.HasPrefix(name, ":") || slices.Contains(protectedHeaders, name) || name == "te" && len(te) > maxTELength {
			return "its Connection header may not name " + name
		}
	}
	return ""
}

// asksUpgrade tells whether a request asks for another protocol than HTTP.
func asksUpgrade(h http.Header) bool {
	return h.Get("Upgrade") != "" && slices.Contains(splitTokens(h.Get("Connection")), "upgrade")
}

// removeHopByHop takes off what ends at the proxy: what is between it and its client, and what the client says to be
// so.
func (s *simulation) removeHopByHop(m *hcmv3.HttpConnectionManager) {
	h := s.current.Header
	if asksUpgrade(h) && strings.EqualFold(h.Get("Upgrade"), "h2c") {
		h.Del("Upgrade")
		h.Del("Http2-Settings")
	}
	for _, name := range splitTokens(h.Get("Connection")) {
		switch name {
		case "close", "connection", "http2-settings", "keep-alive", "upgrade":
		case "te":
			keepTrailers(h, strings.EqualFold)
		default:
			h.Del(name)
		}
	}
	if !asksUpgrade(h) {
		h.Del("Connection")
		h.Del("Upgrade")
	}
	if h.Get("Transfer-Encoding") != "" {
		s.noteNotSimulated("transfer-encoding")
	}
	if strings.EqualFold(h.Get("Expect"), "100-continue") && !m.GetProxy_100Continue() {
		h.Del("Expect")
	}
	for _, name := range []string{"Keep-Alive", "Proxy-Connection", "Transfer-Encoding"} {
		h.Del(name)
	}
	if h.Get("Te") != "" {
		keepTrailers(h, func(a, b string) bool { return a == b })
	}
	if _, found := h["Referer"]; found && !plainURL.MatchString(h.Get("Referer")) {
		h.Set("Referer", request.MaybeReferer)
	}
}

// keepTrailers leaves of a TE header that the client takes trailers, or nothing.
func keepTrailers(h http.Header, same func(a, b string) bool) {
	takes := slices.ContainsFunc(strings.Split(h.Get("Te"), ","),
		func(t string) bool { return same(strings.TrimSpace(t), "trailers") })
	if h.Del("Te"); takes {
		h.Set("Te", "trailers")
	}
}

// plainURL matches URLs that Envoy always leaves in a Referer. Whether it leaves others there depends on the URL.
var plainURL = regexp.MustCompile(`^(?i:https?)://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,4})?(/[!"$-~]*)?$`)

// checkUpgrade tells whether a request goes on that may ask for another protocol.
func (s *simulation) checkUpgrade(m *hcmv3.HttpConnectionManager) bool {
	if !asksUpgrade(s.current.Header) {
		return true
	}
	to := s.current.Header.Get("Upgrade")
	allowed := slices.ContainsFunc(m.GetUpgradeConfigs(), func(c *hcmv3.HttpConnectionManager_UpgradeConfig) bool {
		return strings.EqualFold(c.GetUpgradeType(), to) && (c.GetEnabled() == nil || c.GetEnabled().GetValue())
	})
	if allowed {
		s.noteNotSimulated("upgrade")
	} else {
		s.refuseRequest(http.StatusForbidden, "there is no upgrade to %s", to)
	}
	return allowed
}
