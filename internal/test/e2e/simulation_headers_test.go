package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"cardea.dev/cardea/examples/calls"
	"cardea.dev/cardea/internal/core/request"
)

// TestRequestHeadersAsEnvoyMakesThem: a real Envoy and the simulation agree on the rule that takes a request with a
// header, and on all headers that the backend gets: those that end at Envoy, those that it makes or adds to, those of
// which it makes one of several. What only Envoy knows is undecided where a rule asks for it.
func TestRequestHeadersAsEnvoyMakesThem(t *testing.T) {
	t.Parallel()
	list := headerCases()
	rules := &strings.Builder{}
	for i, c := range list {
		fmt.Fprintf(rules, takenRule, i, i, c.name, c.want)
	}
	rules.WriteString(restRule)
	s := startRaw(t, strings.NewReplacer("${routes}", rules.String(), "${port}",
		fmt.Sprint(Backend(t, "app"))).Replace(webGateway))
	for i, c := range list {
		s.made(t, c, request.Request{Method: http.MethodGet, Host: "any", Path: fmt.Sprintf("/h/%d", i), Header: c.sent})
	}
	for _, edit := range []string{"add", "set", "remove"} {
		for _, sent := range []http.Header{nil, edited("a"), edited("a", "b")} {
			s.made(t, headerCase{name: edit}, request.Request{Method: http.MethodGet, Host: "any", Path: "/" + edit,
				Header: sent})
		}
	}
}

// headerCase is a request to a rule that wants a header to match.
type headerCase struct {
	name, want string
	sent       http.Header
	undecided  bool
}

// made makes a request, and wants the simulation to tell what the backend got, or that it can't be told.
func (s *rawStage) made(t *testing.T, c headerCase, r request.Request) {
	t.Helper()
	r.Port = Offset + 80
	status, body := s.send(t, r)
	result := s.config.SimulateRequest(r)
	switch {
	case result.Undecided != c.undecided:
		t.Errorf("%s, header %s that matches %s: undecided is %t, want %t (Envoy: %d %s)",
			brief(r), c.name, c.want, result.Undecided, c.undecided, status, body)
		return
	case c.undecided:
		return
	case len(result.NotSimulated) > 0 || len(result.Outcomes) != 1:
		t.Errorf("%s: simulated %+v, want one outcome", brief(r), result)
		return
	}
	o := result.Outcomes[0]
	if o.Request == nil || status != http.StatusOK {
		if o.Status != status {
			t.Errorf("%s, header %s that matches %s: Envoy answers %d %s, simulated %d", brief(r), c.name, c.want, status, body,
				o.Status)
		}
		return
	}
	var seen calls.Seen
	if err := json.Unmarshal([]byte(body), &seen); err != nil {
		t.Fatal(err)
	}
	if err := checkHeaders(seen.Headers, o.Request.Header, "Attempt"); err != nil {
		t.Errorf("%s, header %s that matches %s: %v", brief(r), c.name, c.want, err)
	}
}

func headerCases() (list []headerCase) {
	h := func(pairs ...string) http.Header {
		header := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			header.Add(pairs[i], pairs[i+1])
		}
		return header
	}
	closed := func(name, want string, sent http.Header) { list = append(list, headerCase{name, want, sent, false}) }
	undecided := func(name, want string, sent http.Header) { list = append(list, headerCase{name, want, sent, true}) }
	for _, name := range strings.Fields(endAtEnvoy) {
		closed(name, ".*", h(name, "abc"))
		closed(name, ".*", nil)
	}
	for _, name := range strings.Fields(mayComeTwice) {
		closed(name, ".*", nil)
		closed(name, ".*", h(name, "http://a"))
		closed(name, "http://a,http://b", h(name, "http://a", name, "http://b"))
		closed(name, "http://b", h(name, "http://a", name, "http://b"))
	}
	undecided("x-forwarded-for", `1\.2\.3\.4`, h("x-forwarded-for", "1.2.3.4"))
	undecided("x-forwarded-for", ".*", nil)
	undecided("x-request-id", ".*abc.*", h("x-request-id", "abc"))
	undecided("x-request-id", ".*abc.*", nil)
	undecided("x-envoy-external-address", ".*", nil)
	undecided("x-envoy-external-address", ".*", h("x-envoy-external-address", "1.2.3.4"))
	closed("x-a", "a", h("x-a", "a", "x-request-id", "a", "x-forwarded-for", "1.2.3.4", "x-envoy-external-address", "a",
		"x-forwarded-proto", "https"))
	closed("x-a", "a", h("x-a", "a", "x-forwarded-for", "a", "x-forwarded-for", "b"))
	closed("x-forwarded-proto", "http", h("x-forwarded-proto", "https", "x-forwarded-proto", "https"))
	for _, te := range []string{"trailers", "Trailers", "gzip", "gzip, trailers", "trailers;q=0.5", "gzip,  trailers ,a",
		"trailers trailers", ""} {
		closed("te", "trailers", h("te", te))
		closed("te", ".*", h("te", te, "connection", "te, close"))
	}
	closed("te", ".*", h("te", "a", "te", "trailers"))
	for _, size := range []int{100, 245, 246, 247, 255, 256, 300} {
		long := strings.Repeat("a", size)
		closed("te", ".*", h("te", long, "connection", "te"))
		closed("te", ".*", h("te", "trailers, "+long, "connection", "te"))
		closed("te", ".*", h("te", "trailers", "te", long, "connection", "te"))
		closed("te", ".*", h("te", long))
	}
	for _, expect := range []string{"100-continue", "100-Continue", "100-continue, other", ""} {
		closed("expect", ".*", h("expect", expect))
	}
	for _, tokens := range []string{
		"x-a", "X-A", "close", "keep-alive , x-a", "x-forwarded-for", "X-Forwarded-Host", "x-forwarded-proto", "foo, bar",
		"upgrade", "cookie",
		"connection", "a,b,c,d,e,f,g,h,i", "a,b,c,d,e,f,g,h,i,j", "a,b,,,c,d,e,f,,g,h,i,,", "close, :path", "",
		"x-request-id", "http2-settings",
		"x-forwarded-port, accept",
	} {
		closed("x-a", ".*", h("x-a", "1", "x-a", "2", "connection", tokens, "http2-settings", "1", "cookie", "a", "accept",
			"a", "x-forwarded-port", "1"))
	}
	closed("x-a", ".*", h("x-a", "1", "connection", "close", "connection", "x-a"))
	closed("upgrade", ".*", h("upgrade", "other", "connection", "Upgrade"))
	closed("upgrade", ".*", h("upgrade", "h2c", "connection", "Upgrade, HTTP2-Settings", "http2-settings", "x"))
	for _, url := range []string{
		"http://a.b/c", "https://a.b", "http://a.b:8080/?q=[x]&y", "HTTP://a.b/", "http://127.0.0.1:80/a;b=c%20d",
		"HTTPS://A-b.c/~a",
	} {
		closed("referer", ".*", h("referer", url))
	}
	for _, url := range []string{
		"about:blank", "http://", "http://a b/", "http://a.b:x/", "http://u@a.b/#f", "http://a.b/#f", "/x", "a",
		"http://[::1]/", "ftp://a/",
		"http://a?b", "",
	} {
		undecided("referer", ".*", h("referer", url))
	}
	undecided("referer", ".*", h("referer", "http://a", "referer", "http://b"))
	return list
}

// endAtEnvoy are headers that no rule sees; mayComeTwice are others, of some of which Envoy makes one where there are
// two.
const (
	endAtEnvoy = `connection keep-alive proxy-connection upgrade x-forwarded-client-cert x-envoy-internal
		x-envoy-original-path x-envoy-original-host x-envoy-max-retries x-envoy-decorator-operation
		x-envoy-downstream-service-cluster x-envoy-downstream-service-node x-envoy-expected-rq-timeout-ms
		x-envoy-force-trace x-envoy-hedge-on-per-try-timeout x-envoy-ip-tags x-envoy-original-url
		x-envoy-retriable-header-names x-envoy-retriable-status-codes x-envoy-retry-grpc-on x-envoy-retry-on
		x-envoy-upstream-alt-stat-name x-envoy-upstream-rq-per-try-timeout-ms x-envoy-upstream-rq-timeout-alt-response
		x-envoy-upstream-rq-timeout-ms x-envoy-upstream-stream-duration-ms`
	mayComeTwice = `x-a accept accept-encoding accept-language access-control-request-headers
		access-control-request-method age authorization baggage cache-control client-trace-id content-encoding
		content-language content-md5 content-range cookie date dnt etag expires forwarded from grpc-accept-encoding
		grpc-encoding grpc-message grpc-status grpc-timeout http2-settings if-match if-modified-since if-none-match if-range
		if-unmodified-since last-modified link location max-forwards origin pragma prefer priority proxy-authenticate
		proxy-authorization proxy-status range server set-cookie trailer traceparent tracestate true-client-ip
		upgrade-insecure-requests user-agent vary via warning x-b3-traceid x-client-trace-id x-cluster-client-ip
		x-envoy-attempt-count x-envoy-degraded x-envoy-is-timeout-retry x-envoy-original-method x-envoy-overloaded
		x-envoy-peer-metadata x-forwarded x-forwarded-host x-forwarded-port x-forwarded-prefix x-forwarded-scheme
		x-http-method-override x-ot-span-context x-real-ip x-requested-with`
)

// edited are the headers that restRule edits, each with values.
func edited(values ...string) http.Header {
	header := http.Header{}
	for _, name := range []string{"x-request-id", "x-forwarded-for", "x-envoy-external-address", "x-forwarded-proto",
		"accept", "x-a"} {
		for _, value := range values {
			header.Add(name, value)
		}
	}
	return header
}

const takenRule = `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: h%d}
spec:
  parentRefs: [{name: web}]
  rules:
  - matches: [{path: {type: Exact, value: /h/%d}, headers: [{type: RegularExpression, name: %s, value: '%s'}]}]
    filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-taken, value: "yes"}]}}]
    backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: app}]
`

const restRule = `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: rest}
spec:
  parentRefs: [{name: web}]
  rules:
  - backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: app}]
  - matches: [{path: {value: /add}}]
    filters: [{type: RequestHeaderModifier, requestHeaderModifier: {add: [
      {name: x-request-id, value: c}, {name: x-forwarded-for, value: c}, {name: x-envoy-external-address, value: c},
      {name: x-forwarded-proto, value: c}, {name: accept, value: c}, {name: x-a, value: c}]}}]
    backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: app}]
  - matches: [{path: {value: /set}}]
    filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [
      {name: x-request-id, value: c}, {name: x-forwarded-for, value: c}, {name: x-envoy-external-address, value: c},
      {name: x-forwarded-proto, value: c}, {name: accept, value: c}, {name: x-a, value: c}]}}]
    backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: app}]
  - matches: [{path: {value: /remove}}]
    filters: [{type: RequestHeaderModifier, requestHeaderModifier: {
      remove: [x-request-id, x-forwarded-for, x-envoy-external-address, x-forwarded-proto, accept, x-a]}}]
    backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: app}]
`
