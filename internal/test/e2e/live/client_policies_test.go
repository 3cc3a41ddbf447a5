package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/app/standalone"
)

// clientPolicy is a ClientPolicy on the Gateway of gatewayFile.
func clientPolicy(name, spec string) string {
	return "apiVersion: cardea.dev/v1alpha1\nkind: ClientPolicy\n" +
		"metadata: {name: " + name + ", namespace: shop}\nspec:\n" +
		"  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]\n  " + spec + "\n"
}

// withClientPolicy is a program whose Gateway has a ClientPolicy that proxies acknowledged.
func withClientPolicy(t *testing.T, spec string, change ...func(*standalone.Options)) *stage {
	t.Helper()
	s := prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80)))
	s.write("blue.yaml", serviceFile("blue", "blue"))
	s.write("route.yaml", routeFile("web", "shop.example", to("blue")))
	s.write("policy.yaml", clientPolicy("clients", spec))
	s.start(change...)
	s.Ready(t)
	s.says("ClientPolicy/shop/clients", "web: Accepted=True", "web: cardea.dev/Programmed=True")
	return s
}

// open is a connection that ends at last: a test that waits for its end does not wait for ever.
func (s *stage) open(t *testing.T) net.Conn {
	t.Helper()
	conn, err := s.dial(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(e2e.WaitTimeout))
	return conn
}

// ends waits until the proxy has closed a connection, and tells what came before.
func ends(t *testing.T, conn net.Conn) string {
	t.Helper()
	got, err := io.ReadAll(conn)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		t.Errorf("the connection is still open after %q", got)
	}
	return string(got)
}

// sends writes what begins a request, and the rest of it.
func sends(t *testing.T, conn net.Conn, rest string) {
	t.Helper()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: shop.example\r\n"+rest); err != nil {
		t.Fatal(err)
	}
}

// TestClientTimeouts: what a ClientPolicy says of waiting for clients is what a proxy does.
func TestClientTimeouts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ spec, send, want string }{
		"idle":            {"timeouts: {idle: 50ms}", "", ""},
		"request headers": {"timeouts: {requestHeaders: 50ms}", "GET / HTTP/1.1\r\n", "HTTP/1.1 408"},
		"request": {"timeouts: {request: 50ms}",
			"POST / HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 9\r\n\r\n1", "HTTP/1.1 408"},
		"stream idle": {"timeouts: {streamIdle: 50ms}",
			"POST / HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 9\r\n\r\n1", "HTTP/1.1 408"},
		"duration of a connection": {"connections: {maxDuration: 50ms}", "", ""},
		"duration of a stream": {"connections: {maxStreamDuration: 50ms}",
			"POST / HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 9\r\n\r\n1", "HTTP/1.1 408"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withClientPolicy(t, test.spec)
			conn := s.open(t)
			if _, err := io.WriteString(conn, test.send); err != nil {
				t.Fatal(err)
			}
			if got := ends(t, conn); !strings.HasPrefix(got, test.want) {
				t.Errorf("answered %q, want %s", got, test.want)
			}
		})
	}
}

// TestConnectionsOverTheLimitAreClosed: as many connections are open as a ClientPolicy says; the next is closed, and
// there is room for one when another has ended.
func TestConnectionsOverTheLimitAreClosed(t *testing.T) {
	t.Parallel()
	s := withClientPolicy(t, "connections: {max: 1}")
	var first net.Conn
	e2e.Eventually(t, func() error { // of a connection that was closed before, the proxy may not know yet
		conn, err := s.dial(t.Context(), nil)
		if err != nil {
			return err
		}
		if err := served(t.Context(), conn); err != nil {
			conn.Close()
			return err
		}
		first = conn
		return nil
	})
	if got := ends(t, s.open(t)); got != "" {
		t.Errorf("a second connection got %q", got)
	}
	if err := served(t.Context(), first); err != nil {
		t.Errorf("the first connection: %v", err)
	}
	first.Close()
	e2e.Eventually(t, func() error {
		conn, err := s.dial(t.Context(), nil)
		if err != nil {
			return err
		}
		defer conn.Close()
		return served(t.Context(), conn)
	})
}

// served makes a request on a connection, which stays open.
func served(_ context.Context, conn net.Conn) error {
	_ = conn.SetDeadline(time.Now().Add(e2e.WaitTimeout))
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n"); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// TestConnectionsOverTheLimitWait: a connection that is one too many stays open for a while where a policy says so, and
// then it is closed.
func TestConnectionsOverTheLimitWait(t *testing.T) {
	t.Parallel()
	s := withClientPolicy(t, "connections: {max: 1, closeDelay: 50ms}")
	first := s.open(t)
	e2e.Eventually(t, func() error { return served(t.Context(), first) })
	second := s.open(t)
	sends(t, second, "\r\n")
	if got := ends(t, second); got != "" {
		t.Errorf("a second connection got %q", got)
	}
}

// TestConnectionOfAClientTakesSoManyRequests: a connection is closed after as many requests as a ClientPolicy says.
func TestConnectionOfAClientTakesSoManyRequests(t *testing.T) {
	t.Parallel()
	s := withClientPolicy(t, "connections: {maxRequestsPerConnection: 1}")
	conn := s.open(t)
	sends(t, conn, "\r\n")
	if got := ends(t, conn); !strings.HasPrefix(got, "HTTP/1.1 200") || !strings.Contains(got, "connection: close") {
		t.Errorf("the first request got %q", got)
	}
}
