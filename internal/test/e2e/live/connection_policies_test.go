package live

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/e2e"
)

// greeter is a server that speaks first, and counts who got through to it.
type greeter struct {
	port  int
	dials atomic.Int64
}

const greeting = "220 ready\r\n"

func newGreeter(t *testing.T) *greeter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &greeter{port: l.Addr().(*net.TCPAddr).Port}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			g.dials.Add(1)
			go func() {
				defer c.Close()
				_, _ = io.WriteString(c, greeting)
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return g
}

// newUDPEcho answers each datagram with itself.
func newUDPEcho(t *testing.T) (port int) {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 1500)
		for {
			n, from, err := c.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(buffer[:n], from)
		}
	}()
	t.Cleanup(func() { _ = c.Close(); <-done })
	return c.LocalAddr().(*net.UDPAddr).Port
}

// connectionObjects are listeners of TCP, TLS and UDP, with routes to a server that speaks first and to one of UDP.
const connectionObjects = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: shop}
spec:
  gatewayClassName: cardea
  listeners:
  - {name: tcp, port: 9000, protocol: TCP}
  - {name: proxied, port: 9001, protocol: TCP}
  - {name: udp, port: 9000, protocol: UDP}
  - {name: tls, port: 443, protocol: TLS, hostname: "*.example", tls: {mode: Passthrough}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: greeter, namespace: shop}
spec:
  parentRefs: [{name: web, sectionName: tcp}, {name: web, sectionName: proxied}]
  rules: [{backendRefs: [{name: greeter, port: 25}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {name: greeter, namespace: shop}
spec:
  parentRefs: [{name: web, sectionName: tls}]
  hostnames: ["*.example"]
  rules: [{backendRefs: [{name: greeter, port: 25}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: UDPRoute
metadata: {name: echo, namespace: shop}
spec:
  parentRefs: [{name: web, sectionName: udp}]
  rules: [{backendRefs: [{name: echo, port: 53}]}]
---
apiVersion: v1
kind: Service
metadata: {name: greeter, namespace: shop}
spec: {ports: [{port: 25}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: greeter, namespace: shop, labels: {kubernetes.io/service-name: greeter}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: [{port: ${greeter}}]
---
apiVersion: v1
kind: Service
metadata: {name: echo, namespace: shop}
spec: {ports: [{port: 53, protocol: UDP}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: echo, namespace: shop, labels: {kubernetes.io/service-name: echo}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: [{port: ${echo}, protocol: UDP}]
`

// withConnections is a program with these objects.
func withConnections(t *testing.T) (*stage, *greeter) {
	t.Helper()
	g := newGreeter(t)
	s := prepare(t, t.TempDir(), "")
	s.ports["greeter"], s.ports["echo"] = g.port, newUDPEcho(t)
	s.write("objects.yaml", connectionObjects)
	return s, g
}

// policyOn is a policy that targets a listener of the Gateway.
func policyOn(kind, name, section, spec string) string {
	return fmt.Sprintf("apiVersion: cardea.dev/v1alpha1\nkind: %s\nmetadata: {name: %s, namespace: shop}\nspec:\n"+
		"  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web, sectionName: %s}]\n  %s\n",
		kind, name, section, spec)
}

// hear connects from an address, sends something and tells what is heard first; "": the connection was closed.
func (s *stage) hear(t *testing.T, from string, port int, send string) (heard string) {
	t.Helper()
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(t.Context(), "tcp", s.at(port))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(e2e.WaitTimeout))
	_, _ = io.WriteString(c, send)
	b := make([]byte, len(greeting))
	n, err := io.ReadFull(c, b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("from %s at port %d: neither heard nor closed", from, port)
	}
	return string(b[:n])
}

// echoes tells whether datagrams from an address are answered. If not, those of another address, sent afterwards, are.
func (s *stage) echoes(t *testing.T, from, probe string, port int, want bool) bool {
	t.Helper()
	open := func(from string) net.Conn {
		d := &net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(from)}}
		c, err := d.DialContext(t.Context(), "udp", s.at(port))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(e2e.WaitTimeout))
		return c
	}
	own, other := open(from), open(probe)
	_, _ = io.WriteString(own, "hello")
	if want {
		_, err := own.Read(make([]byte, 5))
		return err == nil
	}
	for range 5 {
		_, _ = io.WriteString(other, "hello")
		if _, err := other.Read(make([]byte, 5)); err != nil {
			t.Fatalf("%s is not answered: %v", probe, err)
		}
	}
	_ = own.SetReadDeadline(time.Now().Add(100 * time.Millisecond)) // an answer would be there by now
	_, err := own.Read(make([]byte, 5))
	return err == nil
}

// TestConnectionAuthorization: which connections are taken is decided by the client's address before a backend is
// dialled. A refused client does not hear a server that speaks first.
func TestConnectionAuthorization(t *testing.T) {
	t.Parallel()
	s, g := withConnections(t)
	rules := "authorization: {allow: [{name: local, matches: [{clientCIDRs: [127.0.0.0/8, 203.0.113.0/24]}]}], " +
		"deny: [{name: one, matches: [{clientCIDRs: [127.0.0.96/28], not: {clientCIDRs: [127.0.0.98/32]}}]}]}"
	s.write("tcp.yaml", policyOn("SecurityPolicy", "tcp", "tcp", rules))
	s.write("udp.yaml", policyOn("SecurityPolicy", "udp", "udp", rules))
	s.write("tls.yaml", policyOn("SecurityPolicy", "tls", "tls", "authorization: {allow: ["+
		"{name: anyone, matches: [{hosts: [open.example]}]}, {name: one, matches: [{clientCIDRs: [127.0.0.98/32]}]}]}"))
	s.write("proxied.yaml", policyOn("SecurityPolicy", "proxied", "proxied", "authorization: {allow: [{name: far, "+
		"matches: [{clientCIDRs: [203.0.113.0/24]}]}]}")+"---\n"+
		policyOn("ClientPolicy", "proxied", "proxied", "proxyProtocol: {}"))
	s.start()
	s.Ready(t)
	for _, name := range []string{"tcp", "udp", "tls", "proxied"} {
		s.says("SecurityPolicy/shop/"+name, "web: Accepted=True", "web: cardea.dev/Programmed=True")
	}
	refused := func(from string, port int, send string) {
		t.Helper()
		before := g.dials.Load()
		if heard := s.hear(t, from, port, send); heard != "" || g.dials.Load() != before {
			t.Errorf("from %s at port %d: heard %q, %d dials", from, port, heard, g.dials.Load()-before)
		}
	}
	taken := func(from string, port int, send string) {
		t.Helper()
		if heard := s.hear(t, from, port, send); heard != greeting {
			t.Errorf("from %s at port %d: heard %q", from, port, heard)
		}
	}
	taken("127.0.0.1", 9000, "")
	taken("127.0.0.98", 9000, "")
	refused("127.0.0.97", 9000, "")
	refused("127.0.0.111", 9000, "")
	taken("127.0.0.112", 9000, "")

	hello := func(name string) string { return clientHello(t, name) }
	taken("127.0.0.1", 443, hello("open.example"))
	taken("127.0.0.98", 443, hello("other.example"))
	refused("127.0.0.1", 443, hello("other.example"))

	taken("127.0.0.1", 9001, strings.Replace(proxyV1, " 80\r", " 9001\r", 1))
	refused("127.0.0.1", 9001, "PROXY TCP4 198.51.100.7 192.0.2.1 4660 80\r\n")

	if s.echoes(t, "127.0.0.97", "127.0.0.1", 9000, false) {
		t.Error("a datagram that is refused is answered")
	}
	if !s.echoes(t, "127.0.0.98", "127.0.0.1", 9000, true) {
		t.Error("a datagram that is taken is not answered")
	}
}

// TestConnectionsAreClosedByPolicies: a policy that protects and can't be served for connections closes them, and says
// so; without it they are served.
func TestConnectionsAreClosedByPolicies(t *testing.T) {
	t.Parallel()
	s, g := withConnections(t)
	s.start()
	s.Ready(t)
	if heard := s.hear(t, "127.0.0.1", 9000, ""); heard != greeting {
		t.Fatalf("without a policy %q is heard", heard)
	}
	s.write("policy.yaml", policyOn("TrafficPolicy", "limited", "tcp",
		"rateLimits: [{name: all, requests: 10, interval: 1s}]"))
	s.says("TrafficPolicy/shop/limited", "web: Accepted=False Invalid", "web: cardea.dev/Programmed=False Invalid")
	s.says("Gateway/shop/web", "tcp: Programmed=False PolicyInvalid", "proxied: Programmed=True")
	e2e.Eventually(t, func() error {
		before := g.dials.Load()
		if heard := s.hear(t, "127.0.0.1", 9000, ""); heard != "" || g.dials.Load() != before {
			return fmt.Errorf("a closed listener: %q is heard", heard)
		}
		return nil
	})
	if heard := s.hear(t, "127.0.0.1", 9001, ""); heard != greeting {
		t.Errorf("at another listener %q is heard", heard)
	}
	s.write("policy.yaml", strings.Replace(policyOn("SecurityPolicy", "login", "x",
		"authorization: {deny: [{name: admin, matches: [{paths: [{type: PathPrefix, value: /admin}]}]}]}"),
		", sectionName: x", "", 1))
	s.says("SecurityPolicy/shop/login", "web: Accepted=False Invalid")
	s.says("Gateway/shop/web", "udp: Programmed=False PolicyInvalid", "proxied: Programmed=False PolicyInvalid")
	e2e.Eventually(t, func() error {
		if heard := s.hear(t, "127.0.0.1", 9001, ""); heard != "" {
			return fmt.Errorf("a closed listener: %q is heard", heard)
		}
		return nil
	})
	opens := func() {
		t.Helper()
		s.remove("policy.yaml")
		e2e.Eventually(t, func() error {
			if heard := s.hear(t, "127.0.0.1", 9001, ""); heard != greeting {
				return fmt.Errorf("the policy is gone: %q is heard", heard)
			}
			return nil
		})
	}
	opens()
	s.write("policy.yaml", strings.Replace(policyOn("SecurityPolicy", "route", "x", "authorization: {allow: [{name: far, "+
		"matches: [{clientCIDRs: [203.0.113.0/24]}]}]}"), "Gateway, name: web, sectionName: x", "TCPRoute, name: greeter", 1))
	e2e.Eventually(t, func() error { // a route for connections can be no target, and whoever names one means to protect it
		before := g.dials.Load()
		if heard := s.hear(t, "127.0.0.1", 9001, ""); heard != "" || g.dials.Load() != before {
			return fmt.Errorf("a closed route: %q is heard", heard)
		}
		return nil
	})
	opens()
}

// clientHello is what a client of TLS sends first.
func clientHello(t *testing.T, name string) string {
	t.Helper()
	client, server := net.Pipe()
	defer server.Close()
	go func() {
		_ = tls.Client(client, &tls.Config{ServerName: name}).HandshakeContext(t.Context())
		_ = client.Close()
	}()
	b := make([]byte, 4096)
	n, err := server.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

// TestConnectionClientPolicies: limits, times and access logs hold for connections, without a wait for the client's
// first bytes.
func TestConnectionClientPolicies(t *testing.T) {
	t.Parallel()
	s, g := withConnections(t)
	log := filepath.Join(t.TempDir(), "access.log")
	s.write("policy.yaml", policyOn("ClientPolicy", "few", "tcp",
		"connections: {max: 1}\n  accessLogs: [{name: all, file: {path: "+log+"}, "+
			"format: {text: \"sent %BYTES_SENT% to %UPSTREAM_CLUSTER% %RESPONSE_FLAGS%\"}}]")+"---\n"+
		policyOn("ClientPolicy", "short", "proxied", "timeouts: {idle: 200ms}\n  proxyProtocol: {}"))
	s.start()
	s.Ready(t)
	s.says("ClientPolicy/shop/few", "web: Accepted=True", "web: cardea.dev/Programmed=True")
	s.says("ClientPolicy/shop/short", "web: Accepted=True", "web: cardea.dev/Programmed=True")
	open, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.at(9000))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(open, make([]byte, len(greeting))); err != nil {
		t.Fatal(err)
	}
	before := g.dials.Load()
	if heard := s.hear(t, "127.0.0.1", 9000, ""); heard != "" || g.dials.Load() != before {
		t.Errorf("one connection too many hears %q, %d dials", heard, g.dials.Load()-before)
	}
	_ = open.Close()
	e2e.Eventually(t, func() error {
		text, err := os.ReadFile(log)
		if want := fmt.Sprintf("sent %d to service/shop/greeter/25/tcp", len(greeting)); err == nil &&
			!strings.Contains(string(text), want) {
			err = fmt.Errorf("the log has %q, not %q", text, want)
		}
		return err
	})
	e2e.Eventually(t, func() error {
		if heard := s.hear(t, "127.0.0.1", 9000, ""); heard != greeting {
			return fmt.Errorf("the first connection is closed: %q is heard", heard)
		}
		return nil
	})
	idle, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.at(9001))
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	_ = idle.SetDeadline(time.Now().Add(e2e.WaitTimeout))
	_, _ = io.WriteString(idle, proxyV1)
	if got, err := io.ReadAll(idle); err != nil || string(got) != greeting {
		t.Errorf("an idle connection hears %q: %v", got, err)
	}
	// Without its route the listener closes connections, also under a policy.
	route := strings.Index(connectionObjects, "apiVersion: gateway.networking.k8s.io/v1\nkind: TCPRoute")
	rest := connectionObjects[route:]
	s.write("objects.yaml", connectionObjects[:route]+rest[strings.Index(rest, "---\n")+len("---\n"):])
	e2e.Eventually(t, func() error {
		if heard := s.hear(t, "127.0.0.1", 9000, ""); heard != "" {
			return fmt.Errorf("%q is heard without a route", heard)
		}
		return nil
	})
	before = g.dials.Load()
	if heard := s.hear(t, "127.0.0.1", 9000, ""); heard != "" || g.dials.Load() != before {
		t.Errorf("without a route %q is heard, %d dials", heard, g.dials.Load()-before)
	}
}

// TestConnectionBackendPolicies: a backend takes as many connections as its policy says, and none if that protects what
// can't be protected.
func TestConnectionBackendPolicies(t *testing.T) {
	t.Parallel()
	s, g := withConnections(t)
	policy := func(spec string) string {
		return "apiVersion: cardea.dev/v1alpha1\nkind: BackendPolicy\nmetadata: {name: greeter, namespace: shop}\nspec:\n" +
			"  targetRefs: [{group: \"\", kind: Service, name: greeter}]\n  " + spec + "\n"
	}
	s.write("policy.yaml", policy("limits: {connections: 1}\n  loadBalancer: {leastRequest: {}}\n"+
		"  healthCheck: {tcp: {}}\n  outlierDetection: {consecutive5xx: 3}\n  connection: {connectTimeout: 3s}"))
	s.start()
	s.Ready(t)
	s.says("BackendPolicy/shop/greeter", "web: Accepted=True", "web: cardea.dev/Programmed=True Programmed")
	var open net.Conn
	e2e.Eventually(t, func() (err error) { // a health check may hold the only connection
		if open, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", s.at(9000)); err != nil {
			return err
		}
		_ = open.SetDeadline(time.Now().Add(e2e.WaitTimeout))
		_, err = io.ReadFull(open, make([]byte, len(greeting)))
		return err
	})
	if heard := s.hear(t, "127.0.0.1", 9000, ""); heard != "" {
		t.Errorf("one connection too many hears %q", heard)
	}
	_ = open.Close()
	s.write("policy.yaml", policy("credentials: {header: {name: x-key, secretRef: {name: key}}}")+
		"---\napiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: shop}\nstringData: {value: s3cret}\n")
	s.says("BackendPolicy/shop/greeter", "web: Accepted=False Invalid")
	e2e.Eventually(t, func() error {
		before := g.dials.Load()
		if heard := s.hear(t, "127.0.0.1", 9000, ""); heard != "" || g.dials.Load() != before {
			return fmt.Errorf("a closed backend: %q is heard", heard)
		}
		return nil
	})
}
