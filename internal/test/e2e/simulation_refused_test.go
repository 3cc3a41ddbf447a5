package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/request"
)

// TestRequestsThatEnvoyRefuses: what a real Envoy answers before it looks for a route is what is simulated: methods
// that it knows or not, hosts of every character, and the largest request that it takes, and one more.
func TestRequestsThatEnvoyRefuses(t *testing.T) {
	t.Parallel()
	s := startRaw(t, oneRoute)
	get := request.Request{Method: http.MethodGet, Host: "any", Path: "/"}
	for _, method := range append(strings.Fields(someMethods), "é", "(", strings.Repeat("X", 300)) {
		r := get
		if r.Method = method; method == http.MethodHead {
			continue // it has no body that tells
		}
		s.agree(t, r)
	}
	r := get
	r.Method, r.Header = "QUERY", http.Header{"Content-Type": {"a/b"}, "Content-Length": {"0"}}
	s.agree(t, r)
	for c := range 0x100 {
		if c == '\r' || c == '\n' {
			continue // the line ends
		}
		r := get
		r.Host = "a" + string([]byte{byte(c)}) + "b"
		s.agree(t, r)
	}
	s.agree(t, request.Request{Method: http.MethodGet, Path: "/"})
	const most = 60 << 10
	for over := range 2 { // what is taken, and one byte more
		r := get
		r.Path = "/" + strings.Repeat("a", most+over-len("GET / HTTP/1.1\r\nHost: any\r\n\r\n"))
		s.agree(t, r)
		r = get
		r.Header = http.Header{"X": {strings.Repeat("a", most+over-len("GET / HTTP/1.1\r\nHost: any\r\nX: \r\n\r\n"))}}
		s.agree(t, r)
		r.Header = http.Header{}
		for i := range 99 + over {
			r.Header.Set(fmt.Sprintf("X%d", i), "a")
		}
		s.agree(t, r)
		r.Header = http.Header{"X": make([]string, 99+over)}
		s.agree(t, r)
	}
}

// someMethods are those of RFC 9110, of WebDAV and its relatives, and some that are none.
const someMethods = `ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT CONNECT COPY DELETE GET LABEL LINK LOCK MERGE
	MKACTIVITY MKCALENDAR MKCOL MKREDIRECTREF MKWORKSPACE MOVE MSEARCH M-SEARCH NOTIFY OPTIONS ORDERPATCH PATCH POST PRI
	PROPFIND PROPPATCH PURGE PUT QUERY REBIND REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNCHECKOUT UNLINK UNLOCK
	UNSUBSCRIBE UPDATE UPDATEREDIRECTREF VERSION-CONTROL BREW get Get DEBUG X`

// TestRegexesAsEnvoyReadsThem: which values of headers and which paths a regular expression takes, ASCII or not, UTF-8
// or not.
func TestRegexesAsEnvoyReadsThem(t *testing.T) {
	t.Parallel()
	expressions := []string{
		`\pL`, `\pL\pL`, `\PL`, `.`, `..`, `(?s).`, `[^a]`, `[^\pL]`, `\p{Greek}`, `\p{^Greek}`, `\p{Latin}+`, `\p{Lu}`,
		`\p{Any}`, `\xE9`, `\xC3\xA9`,
		`\x{e9}`, `[\x{80}-\x{ff}]`, `\351`, `\D`, `\S`, `\w`, `[[:alpha:]]`, `\pL*`, `a?`, `(?i)k`, `(?i)[r-t]`, `(?i)k.*`,
		`\ba`,
	}
	folding := []string{`(?i)\x{c9}`, `(?i)[\x{c0}-\x{cf}]`, `(?i)\p{Lu}`} // where Envoy folds less than Go does
	values := []string{
		"a", "k", "K", "S", "5", "é", "\xe9", "\xc9", "\xff", "\x80", "\xd7", "α", "\u212a", "\ufffd", "\xed\xa0\x80",
		"\xc0\x80", "😀", "\xf4\x90\x80\x80",
	}
	paths := map[string][]string{
		`/p\p{Latin}+`: {"/pabc", "/p%C3%A9"}, `/q\p{Greek}+`: {"/q%CE%B1"}, `/r.`: {"/ra", "/r%C3%A9"},
		`/s.{6}`:       {"/s%C3%A9", "/sabcdef"},
		`(?i)/u\p{Lu}`: {"/ua", "/Uz", "/u1"}, `/é`: {"/%C3%A9"}, `/[é]`: {"/%C3%A9"},
	}
	rules := &strings.Builder{}
	for i, x := range append(expressions, folding...) {
		fmt.Fprintf(rules, headerRule, i, i, x)
	}
	for i, x := range slices.Sorted(maps.Keys(paths)) {
		fmt.Fprintf(rules, pathRule, i, x)
	}
	s := startRaw(t, strings.ReplaceAll(webGateway, "${routes}", rules.String()))
	for i := range expressions {
		for _, value := range values {
			r := request.Request{Method: http.MethodGet, Host: "any", Path: fmt.Sprintf("/h/%d", i),
				Header: http.Header{"X-A": {value}}}
			s.agree(t, r)
		}
	}
	for i, x := range folding {
		for _, value := range values {
			r := request.Request{Port: Offset + 80, Method: http.MethodGet, Host: "any",
				Path: fmt.Sprintf("/h/%d", len(expressions)+i)}
			r.Header = http.Header{"X-A": {value}}
			if ascii := !strings.ContainsFunc(value, func(c rune) bool { return c > 0x7f }); ascii {
				s.agree(t, r)
			} else if !s.config.SimulateRequest(r).Undecided {
				t.Errorf("%s of %q: want it not to be simulated", x, value)
			}
		}
	}
	for _, list := range paths {
		for _, path := range list {
			s.agree(t, request.Request{Method: http.MethodGet, Host: "any", Path: path})
		}
	}
}

const webGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: cardea, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: app}
spec: {type: ExternalHostname, port: {number: ${port}}, externalHostname: {hostname: localhost}}
${routes}`

const headerRule = `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: h%d}
spec:
  parentRefs: [{name: web}]
  rules:
  - matches: [{path: {type: Exact, value: /h/%d}, headers: [{type: RegularExpression, name: x-a, value: '%s'}]}]
    backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: app}]
`

const pathRule = `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: p%d}
spec:
  parentRefs: [{name: web}]
  rules:
  - matches: [{path: {type: RegularExpression, value: '%s'}}]
    backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: app}]
`
