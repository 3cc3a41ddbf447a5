package live

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptrace"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/test/testcert"
)

// protocolObjects is a Gateway with one HTTP listener and two HTTPS listeners on one port, and backends of several
// protocols.
const protocolObjects = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec:
  gatewayClassName: cardea
  listeners:
  - {name: http, port: 80, protocol: HTTP}
  - {name: a, port: 443, protocol: HTTPS, hostname: a.example, tls: {certificateRefs: [{name: both}]}}
  - {name: b, port: 443, protocol: HTTPS, hostname: b.example, tls: {certificateRefs: [{name: both}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r}
spec:
  parentRefs: [{name: web}]
  rules:
  - matches: [{path: {value: /}}]
    backendRefs: [{name: plain, port: 80}]
  - matches: [{path: {value: /h2c}}]
    backendRefs: [{name: h2c, port: 80}]
  - matches: [{path: {value: /both}}]
    sessionPersistence: {type: Cookie, cookie: {name: s}}
    backendRefs: [{name: plain, port: 80}, {name: ws, port: 80}]
  - matches: [{path: {value: /ws}}]
    backendRefs: [{name: ws, port: 80}]
  - matches: [{path: {value: /wss}}]
    backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: wss}]
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: wss}
spec:
  type: ExternalHostname
  externalHostname: {hostname: localhost}
  port: {number: %[1]d}
  protocol: WSS
  tls:
    mode: ServerOnly
    validation: {hostname: localhost, caCertificateRefs: [{group: "", kind: ConfigMap, name: ca}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: ca}
data: {ca.crt: %[2]q}
---
apiVersion: v1
kind: Secret
metadata: {name: both}
type: kubernetes.io/tls
stringData: {tls.crt: %[3]q, tls.key: %[4]q}
`

const protocolService = `---
apiVersion: v1
kind: Service
metadata: {name: %[1]s}
spec: {ports: [{port: 80, appProtocol: %[2]s}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: [{port: %[3]d}]
`

func startProtocols(t *testing.T) *e2e.Program {
	pair := testcert.SelfSigned("a.example", "b.example")
	text := fmt.Sprintf(protocolObjects, e2e.Backend(t, "tls-ws"), e2e.Authority().Certificate, pair.Certificate,
		pair.PrivateKey) +
		fmt.Sprintf(protocolService, "plain", "http", e2e.Backend(t, "plain")) +
		fmt.Sprintf(protocolService, "h2c", "kubernetes.io/h2c", e2e.Backend(t, "h2c-a")) +
		fmt.Sprintf(protocolService, "ws", "kubernetes.io/ws", e2e.Backend(t, "ws"))
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "objects.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := e2e.FindingsOf(t, dir); got != "no findings\n" {
		t.Fatal(got)
	}
	p := e2e.Start(t, dir)
	p.Ready(t)
	return p
}

// TestProtocolsOfListeners: an HTTP listener takes HTTP/1.1 and HTTP/2 from the first byte (h2c), an HTTPS listener
// what the client chooses; what a backend speaks has nothing to do with it.
func TestProtocolsOfListeners(t *testing.T) {
	t.Parallel()
	p := startProtocols(t)
	for _, c := range []struct {
		name  string
		url   string
		port  int
		speak func(*http.Protocols)
		want  string
		alpn  string // what TLS agrees on
	}{
		{"HTTP/1.1", "http://any.example", 80, func(s *http.Protocols) { s.SetHTTP1(true) }, "HTTP/1.1", ""},
		{"h2c", "http://any.example", 80, func(s *http.Protocols) { s.SetUnencryptedHTTP2(true) }, "HTTP/2.0", ""},
		{"HTTP/1.1 over TLS", "https://a.example", 443, func(s *http.Protocols) { s.SetHTTP1(true) }, "HTTP/1.1", "http/1.1"},
		{"HTTP/2 over TLS", "https://a.example", 443, func(s *http.Protocols) { s.SetHTTP2(true) }, "HTTP/2.0", "h2"},
	} {
		client := p.Speaking(t, c.port, c.speak)
		for path, want := range map[string]string{"/": "plain HTTP/1.1", "/h2c": "h2c-a HTTP/2.0"} {
			response, err := client.Get(c.url + path)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			_ = response.Body.Close()
			if got := response.Header.Get("Served-By") + " " + response.Header.Get("Served-Proto"); response.Proto != c.want ||
				got != want {
				t.Errorf("%s: %s in %s by %q, want 200 in %s by %q", c.name, response.Status, response.Proto, got, c.want, want)
			}
			if response.TLS != nil && response.TLS.NegotiatedProtocol != c.alpn {
				t.Errorf("%s: TLS agrees on %q, want %q", c.name, response.TLS.NegotiatedProtocol, c.alpn)
			}
		}
	}
}

// TestMisdirectedOverOneConnection: a client may send what is for another host over an HTTP/2 connection that it has,
// if the certificate holds both (RFC 9113, 9.1.1). It is told that this was the wrong one, and the connection goes on.
func TestMisdirectedOverOneConnection(t *testing.T) {
	t.Parallel()
	p := startProtocols(t)
	client := p.Speaking(t, 443, func(s *http.Protocols) { s.SetHTTP2(true) })
	for i, c := range []struct {
		host string
		want int
	}{{"a.example", 200}, {"b.example", 421}, {"none.example", 404}, {"a.example", 200}} {
		reused := false
		ctx := httptrace.WithClientTrace(t.Context(),
			&httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }})
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://a.example/", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = c.host
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != c.want || response.ProtoMajor != 2 || reused != (i > 0) {
			t.Errorf("%d: %s for %s in %s over a connection that is kept (%v), want %d", i, response.Status, c.host,
				response.Proto, reused, c.want)
		}
	}
}

// TestSessionsLeaveTheSharesAlone: a client that keeps its cookie comes to both backends of a rule, as their weights
// say (GEP-1619).
func TestSessionsLeaveTheSharesAlone(t *testing.T) {
	t.Parallel()
	p := startProtocols(t)
	client := p.Speaking(t, 80, func(s *http.Protocols) { s.SetHTTP1(true) })
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client.Jar = jar
	served := map[string]int{}
	const calls = 200
	for range calls {
		response, err := client.Get("http://any.example/both")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		served[response.Header.Get("Served-By")]++
	}
	if at, _ := url.Parse("http://any.example/both"); len(jar.Cookies(at)) != 1 {
		t.Errorf("cookies %v, want one", jar.Cookies(at))
	}
	if served["plain"] < calls/4 || served["ws"] < calls/4 || served["plain"]+served["ws"] != calls {
		t.Errorf("of %d calls: %v", calls, served)
	}
}

// TestWebSockets: an upgrade goes through both kinds of listeners, to backends with and without TLS; then bytes go both
// ways.
func TestWebSockets(t *testing.T) {
	t.Parallel()
	p := startProtocols(t)
	for _, listener := range []int{80, 443} {
		for path, backend := range map[string]string{"/ws": "ws", "/wss": "tls-ws"} {
			conn, err := net.Dial("tcp", net.JoinHostPort(p.Address, strconv.Itoa(listener+e2e.Offset)))
			if err != nil {
				t.Fatal(err)
			}
			if listener == 443 {
				conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, ServerName: "a.example"})
			}
			_ = conn.SetDeadline(time.Now().Add(e2e.WaitTimeout))
			_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
				path)
			reader := bufio.NewReader(conn)
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatalf("%s at %d: %v", path, listener, err)
			}
			if response.StatusCode != http.StatusSwitchingProtocols || response.Header.Get("Served-By") != backend {
				t.Errorf("%s at %d: %s by %q", path, listener, response.Status, response.Header.Get("Served-By"))
			}
			for _, line := range []string{"one\n", "two\n"} {
				_, _ = io.WriteString(conn, line)
				if got, err := reader.ReadString('\n'); got != line {
					t.Errorf("%s at %d: it said %q, %v; want %q", path, listener, got, err, line)
				}
			}
			_ = conn.Close()
		}
	}
}
