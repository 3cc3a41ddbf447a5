package live

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/deliver/process"
	"cardea.dev/cardea/internal/ops/explain"
	"cardea.dev/cardea/internal/test/testcert"
)

// What the proxy refuses though Cardea found nothing wrong with it hurts only itself. Each of these holds a load on
// others meanwhile.

const (
	manyRoutes = 60
	// largeRegex has 2,000 instructions: more than an Envoy of these tests takes, fewer than Cardea takes.
	largeRegex  = "a{1000}b{1000}"
	regexesUpTo = 1000
)

// lowLimit runs the Envoy with a lower limit on regular expressions than Cardea gives it.
func lowLimit(t *testing.T) func(*standalone.Options) {
	t.Helper()
	binary, err := process.FindPath(bootstrap.Program())
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "envoy")
	text := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *--config-path*) ;; *) exec %[1]s \"$@\" ;; esac\n"+
		"exec %[1]s \"$@\" --config-yaml 'layered_runtime: {layers: [{name: low, static_layer: "+
		"{re2.max_program_size.error_level: %d}}]}'\n",
		binary, regexesUpTo)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return envoyAt(script)
}

// unchecked leaves to the proxy what Cardea finds ahead.
func unchecked(o *standalone.Options) { o.Unchecked = true }

// manyFile has many routes to a Service, named by an edit; some say something else.
func manyFile(edit, service string, others map[int]string) string {
	var text strings.Builder
	for i := range manyRoutes {
		rule := others[i]
		if rule == "" {
			rule = to(service)
		}
		text.WriteString(routeFile(fmt.Sprintf("many-%d", i), fmt.Sprintf("many-%d.%s", i, edit), rule) + "---\n")
	}
	return text.String()
}

// serves calls every one of them but the others.
func (s *stage) serves(edit, service string, but map[int]string) {
	s.t.Helper()
	for i := range manyRoutes {
		if but[i] == "" {
			s.soon(fmt.Sprintf("GET http://many-%d.%s/ -> 200 %s", i, edit, service))
		}
	}
}

// unharmed ends a load, of which no request may have failed.
func (s *stage) unharmed(l *load) {
	s.t.Helper()
	asked, failed := l.end()
	if len(failed) > 0 {
		s.t.Errorf("%d of %d requests of others failed: %v", len(failed), asked, failed[0])
	}
	s.t.Logf("%d requests of others, none failed", asked)
}

// nacks is how many responses of a type were refused.
func (s *stage) nacks(typ string) float64 {
	s.t.Helper()
	return s.counters("cardea_xds_nacks_total")[typ]
}

const rejected = "web: cardea.dev/Programmed=False RejectedByProxy"

func regexRule(expression string) string {
	return "{matches: [{headers: [{type: RegularExpression, name: x, value: \"" + expression + "\"}]}], " + to("green") +
		"}"
}

// TestARegexThatIsTooLarge: one bad edit alone, then one among many, then one among many at the start.
func TestARegexThatIsTooLarge(t *testing.T) {
	t.Parallel()
	s := open(t, shop(), lowLimit(t))
	l := s.load(200, "shop.example", "blue")
	bad := func(expression string) string {
		return routeFile("bad", "bad.example", to("green"), regexRule(expression))
	}
	const route, header = "httproute/shop/bad", "GET http://bad.example/ -H x:aaa -> "

	s.write("bad.yaml", bad("b+"))
	s.soon("GET http://bad.example/ -H x:bbb -> 200 green")

	// Alone it is the only suspect: refused once, and nothing else is tried. Its route's other rule serves.
	s.write("bad.yaml", bad(largeRegex))
	s.says(route, rejected+": regex '"+largeRegex[:5])
	s.soon(header + "500")
	s.expect("GET http://bad.example/ -> 200 green")
	if n := s.nacks("Routes"); n != 1 {
		t.Errorf("%v refusals, want 1", n)
	}
	// Edits of others go on; what was refused is not sent again.
	s.write("other.yaml", routeFile("other", "other.example", to("green")))
	s.soon("GET http://other.example/ -> 200 green")
	if n := s.nacks("Routes"); n != 1 {
		t.Errorf("%v refusals, want 1", n)
	}
	s.write("bad.yaml", bad("a+"))
	s.soon(header + "200 green")
	s.says(route, "web: cardea.dev/Programmed=True")

	// Two among many: a trial of two rounds.
	two := map[int]string{7: regexRule(largeRegex), 41: regexRule(largeRegex)}
	s.write("many.yaml", manyFile("one.example", "green", two))
	s.serves("one.example", "green", two)
	for i := range two {
		s.says(fmt.Sprintf("httproute/shop/many-%d", i), rejected)
		s.soon(fmt.Sprintf("GET http://many-%d.one.example/ -H x:aaa -> 500", i))
	}
	s.says("httproute/shop/many-8", "web: cardea.dev/Programmed=True")
	s.reads("rejected content found", `"rejected":2,"of":60,"rounds":2`)
	s.unharmed(l)
}

// TestABackendWithoutAuthorities: an image without the system's certificates. Who sends requests there says so, and
// nobody else is held up.
func TestABackendWithoutAuthorities(t *testing.T) {
	t.Parallel()
	s := open(t, shop(), envoyAt(withoutAuthorities(t)))
	l := s.load(200, "shop.example", "blue")
	backend := func(tls string) string {
		return "{apiVersion: gateway.networking.x-k8s.io/v1alpha1, kind: XBackend, " +
			"metadata: {name: out, namespace: shop}, spec: " +
			"{type: ExternalHostname, " +
			"externalHostname: {hostname: localhost}, port: {number: 9}" + tls + "}}\n"
	}
	const validated = ", tls: {mode: ServerOnly, validation: {hostname: localhost, wellKnownCACertificates: System}}"
	toOut := "{matches: [{path: {value: /out}}], " +
		"backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: out}]}"
	s.write("bad.yaml", routeFile("out", "out.example", to("green"), toOut)+"---\n"+backend(validated))
	s.says("httproute/shop/out", rejected+": XBackend shop/out: Error adding/updating cluster(s) xbackend/shop/out: file")
	s.says("xbackend/shop/out", "web: cardea.dev/Programmed=False RejectedByProxy: Error adding")
	s.soon("GET http://out.example/ -> 200 green")
	s.soon("GET http://out.example/out -> 503")
	s.says("httproute/shop/web", "web: cardea.dev/Programmed=True")

	s.write("bad.yaml", routeFile("out", "out.example", to("green"), toOut)+"---\n"+backend(""))
	s.says("httproute/shop/out", "web: cardea.dev/Programmed=True")
	s.unharmed(l)
}

// TestAGRPCMethodThatIsTooLarge: a method is a path, whose substitute takes no request.
func TestAGRPCMethodThatIsTooLarge(t *testing.T) {
	t.Parallel()
	s := open(t, shop(), lowLimit(t))
	l := s.load(200, "shop.example", "blue")
	bad := func(method string) string {
		return "{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: bad, namespace: shop}, " +
			"spec: {parentRefs: [{name: web}], " +
			"hostnames: [bad.example], rules: [{matches: [{method: {type: RegularExpression, service: \"" + method + "\"}}], " +
			"backendRefs: [{name: green, port: 80}]}]}}\n"
	}
	const route = "grpcroute/shop/bad"
	s.write("bad.yaml", bad(largeRegex))
	s.says(route, rejected+": regex '/(?:"+largeRegex[:5])
	s.write("other.yaml", routeFile("other", "other.example", to("green")))
	s.soon("GET http://other.example/ -> 200 green")
	s.says("httproute/shop/other", "web: cardea.dev/Programmed=True")
	if n := s.nacks("Routes"); n != 1 {
		t.Errorf("%v refusals, want 1", n)
	}
	s.write("bad.yaml", bad("a+"))
	s.says(route, "web: cardea.dev/Programmed=True")
	s.unharmed(l)
}

func TestABadRuleAtTheStart(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), shop())
	one := map[int]string{30: regexRule(largeRegex)}
	s.write("many.yaml", manyFile("one.example", "green", one))
	s.start(lowLimit(t))
	s.Ready(t)
	// Ready means live: all others are served.
	s.expect("GET http://shop.example/ -> 200 blue")
	s.serves("one.example", "green", one)
	s.says("httproute/shop/many-30", rejected)
	s.expect("GET http://many-30.one.example/ -H x:aaa -> 500")
	s.reads("rejected content found", `"rejected":1,"of":61,"rounds":2`)
}

// TestAChangedHost is the mistake on which other gateways froze.
func TestAChangedHost(t *testing.T) {
	t.Parallel()
	s := open(t, shop(), unchecked)
	l := s.load(200, "shop.example", "blue")
	const filter = "{filters: [{type: RequestHeaderModifier, " +
		"requestHeaderModifier: {set: [{name: Host, value: other.example}]}}], "
	one := map[int]string{3: filter + to("green") + "}"}
	s.write("many.yaml", manyFile("one.example", "green", one))
	s.serves("one.example", "green", one)
	s.says("httproute/shop/many-3", rejected+": :-prefixed or host headers may not be modified")
	s.soon("GET http://many-3.one.example/ -> 500")
	s.reads("rejected content found", `"rejected":1,"of":60,"rounds":2`)
	s.write("many.yaml", manyFile("one.example", "blue", nil))
	s.serves("one.example", "blue", nil)
	s.says("httproute/shop/many-3", "web: cardea.dev/Programmed=True")
	s.unharmed(l)
}

// TestAKeyOfAnotherCertificate: the listener serves with the former one.
func TestAKeyOfAnotherCertificate(t *testing.T) {
	t.Parallel()
	first, second := testcert.SelfSigned("shop.example"), testcert.SelfSigned("shop.example")
	s := prepare(t, t.TempDir(), shop())
	s.write("gateway.yaml",
		gatewayFile(80)+"  - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: shop}]}}\n")
	s.write("secret.yaml", secretFile(first.Certificate, first.PrivateKey))
	s.start(unchecked)
	s.Ready(t)
	l := s.load(200, "shop.example", "blue")
	s.write("secret.yaml", secretFile(second.Certificate, first.PrivateKey))
	s.says("gateway/shop/web", "http-80: Programmed=True",
		"https: Programmed=False Invalid: the proxy rejected it: Failed to load private key from <inline>")
	if err := s.handshake(first); err != nil {
		t.Errorf("the former certificate: %v", err)
	}
	s.write("route.yaml", routeFile("web", "shop.example", to("blue"),
		"{matches: [{path: {value: /green}}], "+to("green")+"}"))
	s.soon("GET https://shop.example/green -> 200 green")
	if n := s.nacks("Secret"); n != 1 {
		t.Errorf("%v refusals, want 1", n)
	}
	s.write("secret.yaml", secretFile(second.Certificate, second.PrivateKey))
	e2e.Eventually(t, func() error { return s.handshake(second) })
	s.says("gateway/shop/web", "https: Programmed=True")
	s.unharmed(l)
}

// secureGateway is the Gateway shop/web with HTTPS listeners on port 443: "name host secret".
func secureGateway(listeners ...string) string {
	text := gatewayFile(80)
	for _, l := range listeners {
		word := strings.Fields(l)
		text += fmt.Sprintf("  - {name: %s, hostname: %s, port: 443, protocol: HTTPS, "+
			"tls: {certificateRefs: [{name: %s}]}}\n",
			word[0], word[1], word[2])
	}
	return text
}

// secretNamed is the Secret shop of that name.
func secretNamed(name string, cert, key []byte) string {
	return strings.Replace(secretFile(cert, key), "{name: shop,", "{name: "+name+",", 1)
}

// TestARefusedFilterChain: Envoy makes a filter chain with the certificate that it has, and refuses the whole Listener
// if that is a bad one. The listener is put aside, and keeps what was accepted of it; the others of its port go on,
// their edits are live.
func TestARefusedFilterChain(t *testing.T) {
	t.Parallel()
	a, b := testcert.SelfSigned("a.example", "a2.example", "a3.example"), testcert.SelfSigned("b.example", "b2.example",
		"c.example")
	next := testcert.SelfSigned("b.example", "b2.example", "b3.example", "c.example")
	s := prepare(t, t.TempDir(), shop())
	s.write("route.yaml", routeFile("web", "*.example", to("blue")))
	s.write("gateway.yaml", secureGateway("a a.example a", "b b.example b", "c c.example c", "d d.example b"))
	s.write("a.yaml", secretNamed("a", a.Certificate, a.PrivateKey))
	s.write("b.yaml", secretNamed("b", b.Certificate, b.PrivateKey))
	s.write("c.yaml", secretNamed("c", next.Certificate, b.PrivateKey))
	s.start(unchecked)
	s.says("gateway/shop/web", "c: cardea.dev/Programmed=False RejectedByProxy: Failed to load private key",
		"a: Programmed=True", "b: Programmed=True")
	s.expect("GET https://a.example/ -> 200 blue\nGET https://b.example/ -> 200 blue certificate=b.example")
	l := s.load(200, "shop.example", "blue")

	// A certificate that is refused is as if it had not come: edits of its listener are live, with the one that was
	// accepted.
	s.write("b.yaml", secretNamed("b", next.Certificate, b.PrivateKey))
	s.says("gateway/shop/web", "b: cardea.dev/Programmed=False RejectedByProxy: Failed to load private key")
	s.write("gateway.yaml", secureGateway("a a.example a", "b b2.example b", "c c.example c", "d d.example b"))
	s.soon("GET https://b2.example/ -> 200 blue certificate=b2.example\nGET https://b.example/ -> closed")

	// Two are edited at once, one of which has no good certificate then.
	s.write("gateway.yaml", secureGateway("a a2.example a", "b b3.example c", "c c.example c", "d d.example b"))
	s.soon("GET https://a2.example/ -> 200 blue certificate=a2.example\nGET https://a.example/ -> closed")
	s.says("gateway/shop/web", "b: Programmed=False Invalid: the proxy rejected it: Error adding/updating listener(s) ",
		"b: cardea.dev/Programmed=False RejectedByProxy: Error adding/updating listener(s) ", "a: Programmed=True",
		"http-80: Programmed=True")
	s.expect("GET https://b2.example/ -> 200 blue certificate=b2.example\nGET https://b3.example/ -> closed")
	s.reads("rejected content found", `"rejected":1,"of":2,"rounds":1`)
	refused := s.nacks("Listener")

	// Later edits of others do not try it again, and a proxy that comes gets what was accepted.
	s.write("gateway.yaml", secureGateway("a a3.example a", "b b3.example c", "c c.example c", "d d.example b"))
	s.soon("GET https://a3.example/ -> 200 blue")
	if n := s.nacks("Listener"); n != refused {
		t.Errorf("%v refusals, want the %v of before", n, refused)
	}
	s.unharmed(l)
	if err := syscall.Kill(s.reads("process started").PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.soon("GET https://a3.example/ -> 200 blue\nGET https://b2.example/ -> 200 blue certificate=b2.example")

	// Another certificate is a reason to try it again.
	s.write("b.yaml", secretNamed("b", next.Certificate, next.PrivateKey))
	s.write("c.yaml", secretNamed("c", next.Certificate, next.PrivateKey))
	s.soon("GET https://b3.example/ -> 200 blue certificate=b3.example\n" +
		"GET https://b2.example/ -> closed\nGET https://a3.example/ -> 200 blue")
	s.says("gateway/shop/web", "b: Programmed=True", "a: Programmed=True", "c: Programmed=True", "Accepted=True Accepted")
}

// TestARouteDeletedUnderARefusedFilterChain: a refused listener serves as it was, but not what is deleted under it.
func TestARouteDeletedUnderARefusedFilterChain(t *testing.T) {
	t.Parallel()
	good, other := testcert.SelfSigned("web.b.example", "admin.b.example"), testcert.SelfSigned("web.b.example")
	s := prepare(t, t.TempDir(), shop())
	s.write("gateway.yaml", secureGateway(`b '*.b.example' b`, "c c.example c"))
	s.write("b.yaml", secretNamed("b", good.Certificate, good.PrivateKey))
	s.write("c.yaml", secretNamed("c", other.Certificate, good.PrivateKey))
	s.write("route.yaml", routeFile("web", "web.b.example", to("blue")))
	s.write("admin.yaml", routeFile("admin", "admin.b.example", to("green")))
	s.start(unchecked)
	s.soon("GET https://admin.b.example/ -> 200 green\nGET https://web.b.example/ -> 200 blue")
	s.says("gateway/shop/web", "c: cardea.dev/Programmed=False RejectedByProxy: Failed to load private key")
	s.write("gateway.yaml", secureGateway(`b '*.b.example' c`, "c c.example c"))
	s.says("gateway/shop/web", "b: cardea.dev/Programmed=False RejectedByProxy: Error adding/updating listener(s) ")
	s.expect("GET https://admin.b.example/ -> 200 green")
	s.remove("admin.yaml")
	s.soon("GET https://admin.b.example/ -> 404")
	s.expect("GET https://web.b.example/ -> 200 blue")
}

// TestAFilterChainThatNeverServed: its hosts are refused, and do not fall to a wider listener.
func TestAFilterChainThatNeverServed(t *testing.T) {
	t.Parallel()
	a, b := testcert.SelfSigned("a.example", "wide.example"), testcert.SelfSigned("b.example", "c.example")
	s := prepare(t, t.TempDir(), shop())
	s.write("route.yaml", routeFile("web", "*.example", to("blue")))
	s.write("gateway.yaml", secureGateway(`wide '*.example' a`, "b b.example b"))
	s.write("a.yaml", secretNamed("a", a.Certificate, a.PrivateKey))
	s.write("b.yaml", secretNamed("b", b.Certificate, a.PrivateKey))
	s.start(unchecked)
	s.says("gateway/shop/web", "b: cardea.dev/Programmed=False RejectedByProxy", "wide: Programmed=True")
	s.soon("GET https://wide.example/ -> 200 blue\nGET https://b.example/ -> closed")
	// c shares the bad certificate; another one comes with it.
	s.write("gateway.yaml", secureGateway(`wide '*.example' a`, "b b.example b", "c c.example b", "d d.example a"))
	s.says("gateway/shop/web", "c: cardea.dev/Programmed=False RejectedByProxy", "d: Programmed=True",
		"wide: Programmed=True")
	s.expect("GET https://d.example/ -> 200 blue\nGET https://wide.example/ -> 200 blue")
	s.soon("GET https://c.example/ -> closed")
	s.write("b.yaml", secretNamed("b", b.Certificate, b.PrivateKey))
	s.soon("GET https://b.example/ -> 200 blue\nGET https://c.example/ -> 200 blue certificate=c.example")
	s.says("gateway/shop/web", "b: Programmed=True", "c: Programmed=True")
}

// TestAListenerOnATakenPort comes while others serve.
func TestAListenerOnATakenPort(t *testing.T) {
	t.Parallel()
	s := open(t, shop())
	l := s.load(200, "shop.example", "blue")
	taken := s.hold(s.Address, 81)
	s.write("gateway.yaml", gatewayFile(80, 81, 82))
	s.says("gateway/shop/web", "http-81: Accepted=False PortUnavailable", "http-80: Programmed=True",
		"http-82: Programmed=True")
	s.soon("GET http://shop.example:82/ -> 200 blue")
	var story explain.Story
	if err := s.Program.Read("/explain?url="+url.QueryEscape("http://shop.example:81/"), &story); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(story.Notes,
		func(n string) bool { return strings.HasPrefix(n, "the proxy refused listener http-81: ") }) {
		t.Errorf("notes %q, want what the proxy said of the port", story.Notes)
	}
	taken.Close()
	s.soon("GET http://shop.example:81/ -> 200 blue")
	s.unharmed(l)
}
