package live

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/app/standalone"
)

// TestLoops: requests that a tenant leads back to the proxy by a hostname end at the sixth hop with 508: through one
// Gateway or two, under changing hosts, or as copies, be it by a rule or by filters of its backendRefs. A question to
// an authorization server makes no further one. Meanwhile others are served.
func TestLoops(t *testing.T) {
	t.Parallel()
	var copies atomic.Int64
	counted := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { copies.Add(1) }))
	t.Cleanup(counted.Close)
	one, other := freePort(t), freePort(t)
	s := prepare(t, t.TempDir(), archive("blue.yaml", serviceFile("blue", "blue"), "counted.yaml",
		serviceFile("counted", "counted"), "shop.yaml", routeFile("web", "shop.example", to("blue"))))
	s.ports["counted"] = counted.Listener.Addr().(*net.TCPAddr).Port
	s.write("counted.yaml", serviceFile("counted", "counted"))
	s.write("gateway.yaml", gatewayFile(80, one-e2e.Offset))
	s.write("other.yaml", strings.Replace(gatewayFile(other-e2e.Offset), "name: web", "name: other", 1))
	s.write("backends.yaml", hostFile("self", one)+"---\n"+hostFile("there", other))
	out := func(name string) string {
		return fmt.Sprintf("{group: gateway.networking.x-k8s.io, kind: XBackend, name: %s}", name)
	}
	s.write("routes.yaml", strings.Join([]string{
		routeFile("loop", "loop.example", "{backendRefs: ["+out("self")+"], timeouts: {request: 3s}}"),
		routeFile("out", "two.example", "{backendRefs: ["+out("there")+"], timeouts: {request: 3s}}"),
		strings.Replace(routeFile("back", "two.example", "{backendRefs: ["+out("self")+"], timeouts: {request: 3s}}"),
			"parentRefs: [{name: web}]", "parentRefs: [{name: other}]", 1),
		routeFile("copied", "copied.example",
			"{filters: ["+strings.Repeat("{type: RequestMirror, requestMirror: {backendRef: "+out("self")+"}}, ", 6)+"], "+
				to("counted")+"}"),
		routeFile("asked", "asked.example",
			"{filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, http: {}, backendRef: "+out("self")+"}}], "+
				to("counted")+"}"),
		routeFile("mirrored", "mirrored.example", "{backendRefs: [{name: counted, port: 80, filters: ["+
			strings.Repeat("{type: RequestMirror, requestMirror: {backendRef: "+out("self")+"}}, ", 6)+"]}]}"),
		routeFile("headers", "headers.example", "{backendRefs: ["+filtered(out("self"),
			"{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-a, value: b}]}}")+"]}"),
		routeFile("to", "to.example", "{backendRefs: ["+
			filtered(out("self"), "{type: URLRewrite, urlRewrite: {hostname: fro.example}}")+"]}"),
		routeFile("fro", "fro.example", "{filters: [{type: URLRewrite, urlRewrite: {hostname: to.example}}], backendRefs: ["+
			out("self")+"]}"),
		routeFile("asks", "asks.example", "{backendRefs: [{name: counted, port: 80, filters: [{type: ExternalAuth, "+
			"externalAuth: {protocol: HTTP, http: {}, backendRef: "+out("self")+"}}]}]}"),
		routeFile("moved", "moved.example", "{filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, http: {}, "+
			"backendRef: "+out("self")+"}}, {type: RequestRedirect, requestRedirect: {hostname: b.example}}]}"),
		routeFile("pass", "pass.example", "{backendRefs: ["+out("blue")+"]}"),
		routeFile("set", "set.example", "{filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, http: "+
			"{allowedResponseHeaders: [CDN-Loop]}, backendRef: "+out("self")+"}}], "+to("counted")+"}"),
		routeFile("change", "change.example", "{filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: "+
			"[CDN-Loop]}}], backendRefs: ["+out("self")+"]}"),
	}, "---\n"))
	s.write("pass.yaml", hostFile("blue", e2e.Backend(t, "blue")))
	s.start(func(o *standalone.Options) { o.Bind = append(o.Bind, "127.0.0.1") })
	s.Ready(t)
	for range 5 {
		s.expect(`
			GET http://loop.example/ -> 508
			GET http://two.example/ -> 508
			GET http://shop.example/ -> 200 blue host=shop.example
			GET http://pass.example/ -> 200 blue host=pass.example header.cdn-loop=cardea
			GET http://pass.example/ -H cdn-loop:other -> 200 blue host=pass.example header.cdn-loop=other,cardea
			GET http://headers.example/ -> 508
			GET http://to.example/ -> 508
			GET http://asked.example/ -> 403
			GET http://asks.example/ -> 403
			GET http://moved.example/ -> 403
			GET http://shop.example/ -> 200 blue host=shop.example
			GET http://set.example/ -> 500
			GET http://change.example/ -> 500`)
	}
	if n := copies.Load(); n != 0 {
		t.Errorf("%d requests were let through that nobody was asked about", n)
	}
	for range 20 {
		s.expect("GET http://copied.example/ -> 200\nGET http://mirrored.example/ -> 200\n" +
			"GET http://shop.example/ -> 200 blue host=shop.example")
	}
	s.expect("GET http://loop.example/ -> 508\nGET http://shop.example/ -> 200 blue host=shop.example")
	if n := copies.Load(); n != 40 {
		t.Errorf("the backend got %d requests of 40: copies that come back are let through", n)
	}
}

// filtered is a backendRef with a filter of its own.
func filtered(ref, filter string) string {
	return strings.TrimSuffix(ref, "}") + ", filters: [" + filter + "]}"
}

// hostFile is an XBackend of namespace shop on this machine.
func hostFile(name string, port int) string {
	return fmt.Sprintf("apiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XBackend\nmetadata: {name: %s, "+
		"namespace: shop}\nspec: {type: ExternalHostname, port: {number: %d}, externalHostname: {hostname: localhost}}\n",
		name, port)
}

// freePort is one that nobody has at this moment, high enough for a listener with the Offset.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
