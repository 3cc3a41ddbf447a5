package live

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/e2e"
)

// httpbin is a real backend behind a stage, and who calls it.
type httpbin struct {
	*stage
	calls *http.Client // does not decompress, and sends no Accept-Encoding of its own
	port  int
}

// prepareHTTPBin starts the backend and makes a stage with a Gateway; the caller writes routes, and starts the stage.
func prepareHTTPBin(t *testing.T) *httpbin {
	t.Helper()
	listens := e2e.Started(t, exec.Command(e2e.BuiltPart(t, "httpbin")))
	b := &httpbin{stage: prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80)))}
	port, err := strconv.Atoi(listens)
	if err != nil {
		t.Fatalf("httpbin tells no port: %v", err)
	}
	b.port = port
	b.ports["httpbin"] = b.port
	transport := &http.Transport{
		DisableCompression: true,
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return b.dial(ctx, nil) },
	}
	t.Cleanup(transport.CloseIdleConnections)
	b.calls = &http.Client{Transport: transport, Timeout: e2e.WaitTimeout}
	return b
}

// behind writes a Service of that name and a route to it for the host NAME.example, and a TrafficPolicy with features
// for the route, if there are any.
func (b *httpbin) behind(name, features string) {
	b.t.Helper()
	b.write(name+"-service.yaml", serviceFile(name, "httpbin"))
	b.write(name+"-route.yaml", routeFile(name, name+".example", to(name)))
	if features != "" {
		b.write(name+"-policy.yaml", routePolicyFile("TrafficPolicy", name, features))
	}
}

// routePolicyFile is a policy for the route of its name, with features as they are written in YAML's flow style.
func routePolicyFile(kind, route, features string) string {
	return fmt.Sprintf("{apiVersion: cardea.dev/v1alpha1, kind: %s, metadata: {name: %s, namespace: shop}, spec: "+
		"{targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: %[2]s}], %s}}\n", kind, route, features)
}

// reply is an answer as it came.
type reply struct {
	status int
	header http.Header
	body   string
	cut    bool // the body ended before it was whole
}

// get asks for a URL without its scheme, with headers "name: value".
func (b *httpbin) get(t *testing.T, url string, headers ...string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Add(name, value)
	}
	response, err := b.calls.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, response.Header, string(body), err != nil}
}

// is asks for a URL and wants a status and a whole body with a text in it.
func (b *httpbin) is(t *testing.T, url string, status int, text string, headers ...string) reply {
	t.Helper()
	got := b.get(t, url, headers...)
	if got.status != status || got.cut || !strings.Contains(got.body, text) {
		t.Errorf("%s %v: %d (cut: %v) %q, want %d with %q", url, headers, got.status, got.cut, got.body, status, text)
	}
	return got
}

// arrived are the headers that the backend gets with a request to a host.
func (b *httpbin) arrived(t *testing.T, host string, headers ...string) http.Header {
	t.Helper()
	var got struct{ Headers http.Header }
	if answer := b.get(t, host+"/headers", headers...); json.Unmarshal([]byte(answer.body), &got) != nil {
		t.Fatalf("%s/headers is %d %q", host, answer.status, answer.body)
	}
	return got.Headers
}

// asked tells how often the backend was asked for a path, and how often at a time.
func (b *httpbin) asked(t *testing.T, path string) (of struct{ Requests, AtOnce int }) {
	t.Helper()
	response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/asked", b.port))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	all := map[string]struct{ Requests, AtOnce int }{}
	if err := json.NewDecoder(response.Body).Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all[path]
}

// socket is a WebSocket to the backend, which says what it hears.
type socket struct {
	conn net.Conn
	r    *bufio.Reader
}

func (b *httpbin) socket(t *testing.T, host string) *socket {
	t.Helper()
	conn := b.open(t)
	_ = conn.SetDeadline(time.Now().Add(e2e.WaitTimeout))
	_, err := fmt.Fprintf(conn, "GET /websocket/echo HTTP/1.1\r\nHost: %s\r\n"+
		"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", host)
	s := &socket{conn, bufio.NewReader(conn)}
	response, err2 := http.ReadResponse(s.r, nil)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	const accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" // the key's, of RFC 6455
	if response.StatusCode != http.StatusSwitchingProtocols || response.Header.Get("Sec-WebSocket-Accept") != accept {
		t.Fatalf("an upgrade is answered %s %v", response.Status, response.Header)
	}
	if err := s.echo("hello"); err != nil {
		t.Fatal(err)
	}
	return s
}

// echo sends a text of less than 126 bytes, masked by zeros, and wants it back.
func (s *socket) echo(text string) error {
	if _, err := s.conn.Write(append([]byte{0x81, 0x80 | byte(len(text)), 0, 0, 0, 0}, text...)); err != nil {
		return err
	}
	want := append([]byte{0x81, byte(len(text))}, text...)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(s.r, got); err != nil || !bytes.Equal(got, want) {
		return fmt.Errorf("a WebSocket says %q after %q: %v", got, text, err)
	}
	return nil
}
