package envoy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// TestWebSocket: an upgrade reaches the backend, then bytes go both ways, longer than the rule's timeouts.
func TestWebSocket(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "websocket" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
		_, _ = io.Copy(conn, rw)
	}))
	t.Cleanup(backend.Close)
	addr := backend.Listener.Addr().(*net.TCPAddr)
	w, bind := newWorld(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("ws"), model.Endpoint{Address: addr.IP.String(), Port: int32(addr.Port)})
		w.serve(b, 1, 80, "http", "ws.test", model.Rule{
			Key: testRuleKey("ws"), Matches: []model.Match{{}}, Backends: to("ws"),
			Timeouts: model.Timeouts{Request: 200 * time.Millisecond},
		})
	})
	startProxy(t, w.resources())
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", bind))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	_, _ = fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: ws.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", resp, err)
	}
	for start, i := time.Now(), 0; time.Since(start) < 600*time.Millisecond; i++ {
		line := fmt.Sprintf("line %d\n", i)
		if _, err := io.WriteString(conn, line); err != nil {
			t.Fatal(err)
		}
		if got, err := r.ReadString('\n'); err != nil || got != line {
			t.Fatalf("after %v: %q, %v, want %q", time.Since(start), got, err, line)
		}
	}
}

// TestHTTP2WithoutTLS: a client may speak HTTP/2 to an HTTP listener from the first byte.
func TestHTTP2WithoutTLS(t *testing.T) {
	w, bind := newWorld(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		w.serve(b, 1, 80, "http", "*", model.Rule{Key: testRuleKey("rule"), Matches: []model.Match{{}}, Backends: to("web")})
	})
	startProxy(t, w.resources())
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	resp, err := (&http.Client{Transport: transport}).Get(fmt.Sprintf("http://127.0.0.1:%d/a", bind))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.ProtoMajor != 2 || resp.StatusCode != 200 || resp.Header.Get("From-Backend") != "web" {
		t.Errorf("%s %s %v", resp.Proto, resp.Status, resp.Header)
	}
}
