package live

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// rawServer is a server of TCP that does with a connection what serve says, once it has read a line.
func rawServer(t *testing.T, serve func(net.Conn)) (port int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if _, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
					serve(conn)
				}
			}()
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port
}

// securityPolicy is a policy for a rule of the route web.
func securityPolicy(name, rule, spec string) string {
	return fmt.Sprintf(`apiVersion: cardea.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: %s, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web, sectionName: %s}]
  %s
---
`, name, rule, spec)
}

// TestAuthorizationServersThatFail: what is gone, hangs up, stays silent or answers rubbish denies, with the status
// that is stated, or lets pass if the policy says so.
func TestAuthorizationServersThatFail(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), shop())
	silent := make(chan struct{})
	t.Cleanup(func() { close(silent) })
	answers := map[string]func(net.Conn){
		"silent":   func(net.Conn) { <-silent },
		"rubbish":  func(c net.Conn) { fmt.Fprint(c, "this is not HTTP\r\n\r\n") },
		"hangs-up": func(net.Conn) {},
		"broken":   func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 503 Down\r\ncontent-length: 0\r\n\r\n") },
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.ports["gone"] = closed.Addr().(*net.TCPAddr).Port
	_ = closed.Close()
	for name, serve := range answers {
		s.ports[name] = rawServer(t, serve)
	}
	var rules []string
	var policies strings.Builder
	var calls strings.Builder
	for _, name := range []string{"silent", "rubbish", "hangs-up", "broken", "gone"} {
		s.write(name+".yaml", serviceFile(name, name))
		asks := "extAuth: {http: {}, backendRef: {name: " + name + ", port: 80}, timeout: 300ms"
		for rule, more := range map[string]string{
			name: ", statusOnFailure: 504}", name + "-passes": ", onFailure: Allow}", name + "-shadow": ", mode: Shadow}",
		} {
			rules = append(rules, fmt.Sprintf("{name: %s, matches: [{path: {value: /%s}}], %s}", rule, rule, to("blue")))
			policies.WriteString(securityPolicy(rule, rule, asks+more))
		}
		fmt.Fprintf(&calls, "GET http://shop.example/%s -> 504\n", name)
		fmt.Fprintf(&calls, "GET http://shop.example/%s-passes -> 200 blue\n", name)
		fmt.Fprintf(&calls, "GET http://shop.example/%s-shadow -> 200 blue\n", name)
	}
	s.write("route.yaml", routeFile("web", "shop.example", rules...))
	s.write("policies.yaml", policies.String())
	s.start()
	s.Ready(t)
	s.expect(calls.String())
}

// TestALoginReachesTheClient: a redirect of the server's comes whole, with the cookie of the login, and
// without what was not asked for.
func TestALoginReachesTheClient(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "https://login.example/?to="+r.URL.Path)
		w.Header().Set("Set-Cookie", "flow=1")
		w.Header().Set("X-Other", "kept")
		w.WriteHeader(http.StatusFound)
	}))
	t.Cleanup(server.Close)
	s := prepare(t, t.TempDir(), shop())
	s.ports["login"] = server.Listener.Addr().(*net.TCPAddr).Port
	s.write("login.yaml", serviceFile("login", "login"))
	s.write("route.yaml", routeFile("web", "shop.example", "{name: all, "+to("blue")+"}"))
	s.write("policy.yaml", securityPolicy("login", "all", "extAuth: {http: {}, backendRef: {name: login, port: 80}}"))
	s.start()
	s.Ready(t)
	s.expect("GET http://shop.example/cart -> 302 location=https://login.example/?to=/cart set-cookie=flow=1 x-other=")
}
