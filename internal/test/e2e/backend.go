package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Backend answers every request with what it saw, in the form that examples/calls reads, and its name. Among the
// headers that it says it saw is one of its own: "attempt", how often it has got the same request line by now. Its
// answer has the headers served-by, its name, served-proto, the version of HTTP, served-scheme, and body-bytes, the
// length of the request's body. What it speaks is in its name: h2c-... is HTTP/2 without TLS alone, tls-... is HTTPS (a
// certificate for localhost by the authority ${ca}), authz-... is Envoy's gRPC protocol for authorization, any other
// name HTTP/1.1 and HTTP/2 without TLS; tcp-..., sni-... and udp-... speak no HTTP (sent.go). It answers gRPC calls,
// too (grpc.go). The query may ask it for more:
//
//	?tell=x-a             the answer's header "told" is the request's header x-a
//	?status=503&times=2   the first two requests with this very query get a 503
//	?delay=1s&times=2     the first two requests with this very query are answered after a second
//	?await=3&of=/a        it answers when it has got three requests with the path /a
//	?say=etag:1           the answer has the header etag: 1
//	?pad=1000             1000 spaces follow in the answer's body
//	?cut=1                the connection ends before the answer's body does
//
// Without times, all requests.
func Backend(t testing.TB, name string) (port int) {
	t.Helper()
	switch kind, _, _ := strings.Cut(name, "-"); kind {
	case "tcp":
		return echoLines(t, name, nil)
	case "sni":
		return echoLines(t, name, &tls.Config{
			Certificates: []tls.Certificate{backendCertificate().TLSCertificate()}, NextProtos: []string{"echo"},
		})
	case "udp":
		return echoDatagrams(t, name)
	}
	seen := &tally{counts: map[string]int{}}
	tell := func(r *http.Request) any {
		return map[string]any{
			"name": name, "method": r.Method, "path": r.URL.Path, "query": r.URL.RawQuery, "host": r.Host, "headers": r.Header,
		}
	}
	grpc := echoing(name, seen, tell)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isGRPC(r) {
			grpc.ServeHTTP(w, r)
			return
		}
		attempt := seen.add(r.URL.Path, r.Method+" "+r.RequestURI)
		query := r.URL.Query()
		size, _ := io.Copy(io.Discard, r.Body)
		w.Header().Set("Body-Bytes", strconv.FormatInt(size, 10))
		w.Header().Set("Served-By", name)
		w.Header().Set("Served-Proto", r.Proto)
		w.Header().Set("Served-Scheme", schemeOf(r))
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			w.Header().Set("Served-Client", r.TLS.PeerCertificates[0].Subject.CommonName)
		}
		if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			echo(w)
			return
		}
		if header := query.Get("tell"); header != "" {
			w.Header().Set("Told", r.Header.Get(header))
		}
		w.Header().Set("Content-Type", "application/json")
		for _, header := range query["say"] {
			name, value, _ := strings.Cut(header, ":")
			w.Header().Set(name, value)
		}
		status := http.StatusOK
		if times, err := strconv.Atoi(query.Get("times")); err != nil || attempt <= times {
			if delay, err := time.ParseDuration(query.Get("delay")); err == nil {
				select {
				case <-time.After(delay):
				case <-r.Context().Done():
				}
			}
			if asked, err := strconv.Atoi(query.Get("status")); err == nil {
				status = asked
			}
		}
		if n, err := strconv.Atoi(query.Get("await")); err == nil {
			seen.await(r, query.Get("of"), n)
			attempt = seen.of(query.Get("of"))
		}
		r.Header.Set("Attempt", strconv.Itoa(attempt))
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(tell(r))
		if n, err := strconv.Atoi(query.Get("pad")); err == nil {
			_, _ = io.WriteString(w, strings.Repeat(" ", min(n, 1<<20)))
		}
		if query.Get("cut") != "" {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	server := startServer(t, name, handler)
	_, text, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	port, err = strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// schemeOf is what :scheme said of a request; of HTTP/1.1, which has none, what its connection is. A request by HTTP/2
// whose scheme is http tells nothing of its TLS (golang.org/x/net/http2).
func schemeOf(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// echo accepts an upgrade, and sends back what comes.
func echo(w http.ResponseWriter) {
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", "websocket")
	w.WriteHeader(http.StatusSwitchingProtocols)
	conn, both, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.Copy(conn, both)
}

func startServer(t testing.TB, name string, handler http.Handler) *httptest.Server {
	if strings.HasPrefix(name, "authz-") {
		handler = authorizer(name)
	}
	server := httptest.NewUnstartedServer(handler)
	switch {
	case strings.HasPrefix(name, "tls-"):
		server.EnableHTTP2 = true
		server.TLS = &tls.Config{Certificates: []tls.Certificate{backendCertificate().TLSCertificate()}}
		if strings.HasPrefix(name, "tls-mutual") {
			server.TLS.ClientAuth, server.TLS.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
			server.TLS.ClientCAs.AddCert(Authority().Leaf)
		}
		server.StartTLS()
	case strings.HasPrefix(name, "h2c-"), strings.HasPrefix(name, "authz-"):
		server.Config.Protocols = new(http.Protocols)
		server.Config.Protocols.SetUnencryptedHTTP2(true)
		server.Start()
	default:
		server.Config.Protocols = new(http.Protocols)
		server.Config.Protocols.SetHTTP1(true)
		server.Config.Protocols.SetUnencryptedHTTP2(true)
		server.Start()
	}
	t.Cleanup(server.Close)
	return server
}

// tally counts what a backend got.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

// add counts a path and a request line, and tells how often the latter came.
func (c *tally) add(path, line string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[path]++
	c.counts[line]++
	return c.counts[line]
}

func (c *tally) of(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[key]
}

// await waits until a path was asked for n times, or the client gives up.
func (c *tally) await(r *http.Request, path string, n int) {
	for c.of(path) < n && r.Context().Err() == nil {
		time.Sleep(5 * time.Millisecond) // between two looks at the condition
	}
}
