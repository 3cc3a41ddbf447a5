package live

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestARealBackend: what policies promise holds before go-httpbin, which is slow, drips, fails, compresses and speaks
// WebSocket as backends do.
func TestARealBackend(t *testing.T) {
	t.Parallel()
	b := prepareHTTPBin(t)
	b.behind("plain", "")
	b.behind("request", "timeouts: {request: 1s}")
	b.behind("idle", "timeouts: {streamIdle: 1s}")
	b.behind("stream", "timeouts: {stream: 1s}")
	b.behind("retry", "retry: {codes: [500, 503], attempts: 10, backoff: {base: 1ms}}")
	b.behind("pages", "errorResponses: [{name: down, codes: ['502'], from: Backend, contentType: text/html, "+
		"body: {inline: <p>sorry</p>}}, {name: ours, codes: ['504'], from: Proxy, body: {inline: ours}}], "+
		"timeouts: {backendRequest: 1s}")
	b.behind("compressed", "compression: {}")
	b.behind("edited", "headers: {request: {set: [{name: x-set, value: ours}], add: [{name: x-add, value: more}], "+
		"addIfAbsent: [{name: x-absent, value: here}], remove: [x-internal]}, "+
		"response: {set: [{name: x-frame-options, value: DENY}], remove: [x-powered-by]}}")
	b.behind("users", "")
	b.write("users.yaml", routePolicyFile("SecurityPolicy", "users", "basicAuth: {usersRef: {name: users}, userHeader: "+
		"x-user}")+"---\n{apiVersion: v1, kind: Secret, metadata: {name: users, namespace: shop}, "+
		"stringData: {.htpasswd: 'amy:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ='}}\n") // secret
	b.behind("credited", "")
	b.write("credited.yaml", backendPolicyFile("credited", "credentials: {header: {prefix: 'Bearer ', secretRef: "+
		"{name: key}}}")+"---\n"+keyFile("of-the-gateway"))
	b.start()
	b.Ready(t)
	for name, check := range map[string]func(*httpbin, *testing.T){
		"a request's timeout": (*httpbin).requestTimeout,
		"silent streams":      (*httpbin).idleTimeout,
		"streams":             (*httpbin).streamTimeout,
		"retries":             (*httpbin).retries,
		"pages":               (*httpbin).pages,
		"compression":         (*httpbin).compression,
		"headers":             (*httpbin).headers,
		"users":               (*httpbin).users,
		"credentials":         (*httpbin).credentials,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(b, t)
		})
	}
}

// A WebSocket is open when the timeout of a request that began after it has passed.
func (b *httpbin) requestTimeout(t *testing.T) {
	socket := b.socket(t, "request.example")
	b.is(t, "request.example/delay/100ms", http.StatusOK, "")
	b.is(t, "request.example/delay/9s", http.StatusGatewayTimeout, "")
	if got := b.get(t, "request.example/drip?delay=0s&numbytes=90&duration=9s"); got.status != http.StatusOK || !got.cut {
		t.Errorf("an answer that drips for 9 s is %d with %d bytes of 90, cut: %v", got.status, len(got.body), got.cut)
	}
	if err := socket.echo("still here"); err != nil {
		t.Error(err)
	}
}

func (b *httpbin) idleTimeout(t *testing.T) {
	b.is(t, "idle.example/drip?delay=0s&numbytes=20&duration=2s", http.StatusOK, strings.Repeat("*", 20))
	if got := b.get(t, "idle.example/drip?delay=0s&numbytes=2&duration=9s"); got.status != http.StatusOK || !got.cut {
		t.Errorf("an answer that is silent for 9 s is %d %q, cut: %v", got.status, got.body, got.cut)
	}
}

func (b *httpbin) streamTimeout(t *testing.T) {
	socket := b.socket(t, "stream.example")
	if got := ends(t, socket.conn); got != "" {
		t.Errorf("a WebSocket that is cut says %q", got)
	}
}

// A status that is not stated is not tried again; nine in ten million answers would fail of those that are.
func (b *httpbin) retries(t *testing.T) {
	b.is(t, "retry.example/status/503", http.StatusServiceUnavailable, "")
	b.is(t, "retry.example/status/409", http.StatusConflict, "")
	for path, want := range map[string]int{"/status/503": 11, "/status/409": 1} {
		if n := b.asked(t, path).Requests; n != want {
			t.Errorf("the backend was asked for %s %d times, want %d", path, n, want)
		}
	}
	const requests = 40
	for range requests {
		b.is(t, "retry.example/unstable?failure_rate=0.25", http.StatusOK, "")
	}
	if n := b.asked(t, "/unstable").Requests; n <= requests {
		t.Errorf("the backend was asked for /unstable %d times, want more than %d", n, requests)
	}
}

func (b *httpbin) pages(t *testing.T) {
	page := b.is(t, "pages.example/status/502", http.StatusBadGateway, "<p>sorry</p>")
	if typ := page.header.Get("Content-Type"); typ != "text/html" {
		t.Errorf("the page is %q, want text/html", typ)
	}
	b.is(t, "pages.example/delay/9s", http.StatusGatewayTimeout, "ours")
	for _, code := range []int{504, 418, 200} {
		path := fmt.Sprintf(".example/status/%d", code)
		want := b.get(t, "plain"+path)
		if got := b.is(t, "pages"+path, code, ""); got.body != want.body {
			t.Errorf("%s is %q, want the backend's %q", path, got.body, want.body)
		}
	}
}

func (b *httpbin) compression(t *testing.T) {
	const accept = "Accept-Encoding: gzip"
	for _, test := range []struct{ path, encoding string }{
		{"/html", "gzip"}, {"/gzip", "gzip"}, {"/deflate", "deflate"}, {"/image/jpeg", ""}, {"/bytes/2000?seed=1", ""},
	} {
		want, got := b.get(t, "plain.example"+test.path, accept), b.get(t, "compressed.example"+test.path, accept)
		if is := got.header.Values("Content-Encoding"); strings.Join(is, ",") != test.encoding {
			t.Errorf("%s is encoded by %q, want %q", test.path, is, test.encoding)
		}
		if test.path == "/html" {
			got.body = unpacked(t, got.body)
		}
		if test.path == "/gzip" { // it shows the request, with an id of its own
			want.body, got.body = `"gzipped": true`, unpacked(t, got.body)
		}
		if test.path != "/deflate" && !strings.Contains(got.body, want.body) {
			t.Errorf("%s is %q, want %q", test.path, got.body, want.body)
		}
	}
	if got := b.is(t, "compressed.example/html", 200, "Herman Melville"); got.header.Get("Content-Encoding") != "" {
		t.Errorf("who accepts no encoding gets %v", got.header)
	}
}

func unpacked(t *testing.T, body string) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatalf("%v in %q", err, body)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%v after %q", err, text)
	}
	return string(text)
}

func (b *httpbin) headers(t *testing.T) {
	got := b.arrived(t, "edited.example", "x-set: mine", "x-add: mine", "x-absent: mine", "x-internal: secret")
	for name, want := range map[string][]string{
		"X-Set": {"ours"}, "X-Add": {"mine", "more"}, "X-Absent": {"mine"}, "X-Internal": nil,
	} {
		if is := strings.Join(got[name], ","); is != strings.Join(want, ",") {
			t.Errorf("the backend gets %s %q, want %q", name, is, want)
		}
	}
	if is := b.arrived(t, "edited.example")["X-Absent"]; !slices.Equal(is, []string{"here"}) {
		t.Errorf("the backend gets X-Absent %q, want that of the policy", is)
	}
	answer := b.get(t, "edited.example/response-headers?x-frame-options=SAMEORIGIN&x-powered-by=go&x-other=stays").header
	if is := answer.Values("X-Frame-Options"); !slices.Equal(is, []string{"DENY"}) ||
		answer.Get("X-Powered-By") != "" || answer.Get("X-Other") != "stays" {
		t.Errorf("the client gets %v", answer)
	}
}

func (b *httpbin) users(t *testing.T) {
	const login = "Authorization: Basic YW15OnNlY3JldA==" // amy:secret
	b.is(t, "users.example/basic-auth/amy/secret", http.StatusUnauthorized, "")
	b.is(t, "users.example/basic-auth/amy/secret", http.StatusUnauthorized, "", "Authorization: Basic YW15Ondyb25n")
	if n := b.asked(t, "/basic-auth/amy/secret").Requests; n != 0 {
		t.Errorf("%d requests without a password arrived", n)
	}
	if is := b.arrived(t, "users.example", login, "x-user: root")["X-User"]; !slices.Equal(is, []string{"amy"}) {
		t.Errorf("the backend gets X-User %q, want amy", is)
	}
}

func (b *httpbin) credentials(t *testing.T) {
	b.is(t, "plain.example/bearer", http.StatusUnauthorized, "")
	b.is(t, "credited.example/bearer", http.StatusOK, `"token": "of-the-gateway"`)
	b.is(t, "credited.example/bearer", http.StatusOK, `"token": "of-the-gateway"`, "Authorization: Bearer mine")
}
