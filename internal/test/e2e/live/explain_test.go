package live

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/ops/explain"
	"cardea.dev/cardea/internal/test/testcert"
)

const keptBefore = "; proxies keep what they accepted before"

// told waits until the story of a request, as `cardea explain` prints it, has lines that begin so, one below the other.
// "..." stands for anything.
func (s *stage) told(question string, lines ...string) {
	s.t.Helper()
	e2e.Eventually(s.t, func() error {
		var story explain.Story
		if err := s.Program.Read("/explain?url="+url.QueryEscape(question), &story); err != nil {
			return err
		}
		var text strings.Builder
		if err := story.Print(&text, time.Now()); err != nil {
			return err
		}
		if !e2e.Matches(text.String(), "..."+strings.Join(lines, "...\n...")+"...") {
			return fmt.Errorf("%s\nwant %q", text.String(), lines)
		}
		return nil
	})
}

// withARefusedCertificate is a Gateway whose HTTPS listener c has a key of another certificate, beside a and b, which
// serve. The pair is that of b, and good for c, too.
func withARefusedCertificate(t *testing.T) (*stage, testcert.Pair) {
	t.Helper()
	a, b := testcert.SelfSigned("a.example", "a2.example"), testcert.SelfSigned("b.example", "b2.example", "b3.example",
		"c.example")
	s := prepare(t, t.TempDir(), shop())
	s.write("route.yaml", routeFile("web", "*.example", to("blue")))
	s.write("gateway.yaml", secureGateway("a a.example a", "b b.example b", "c c.example c"))
	s.write("a.yaml", secretNamed("a", a.Certificate, a.PrivateKey))
	s.write("b.yaml", secretNamed("b", b.Certificate, b.PrivateKey))
	s.write("c.yaml", secretNamed("c", b.Certificate, a.PrivateKey))
	s.start(unchecked)
	s.says("gateway/shop/web", "c: cardea.dev/Programmed=False RejectedByProxy: Failed to load private key",
		"b: Programmed=True")
	s.soon("GET https://b.example/ -> 200 blue")
	return s, b
}

// TestExplainOfARefusedFilterChain: what was refused is not what proxies have. The story of a request is that of the
// real call, by what was accepted before, and tells what was refused.
func TestExplainOfARefusedFilterChain(t *testing.T) {
	t.Parallel()
	s, b := withARefusedCertificate(t)
	s.told("https://b.example/", "listener b, port 443 ", "answer Service shop/blue port 80")
	s.told("https://c.example/", "listener c, port 443 ", "closed ",
		"note the proxy refused listener c: Failed to load private key from <inline>")

	// The filter chain that was accepted serves on, under its name of before.
	s.write("gateway.yaml", secureGateway("a a.example a", "b b2.example c", "c c.example c"))
	s.says("gateway/shop/web", "b: cardea.dev/Programmed=False RejectedByProxy: Error adding/updating listener(s) ")
	s.expect(
		"GET https://b.example/ -> 200 blue certificate=b.example\nGET https://b2.example/ -> closed\nGET " +
			"https://a.example/ -> 200 blue",
	)
	refused := "note the proxy refused listener b: Error adding/updating listener(s) ..." + keptBefore
	s.told("https://b.example/", "listener b, port 443 ", "answer Service shop/blue port 80", "live since ", refused)
	s.told("https://b2.example/", "listener b, port 443 ", "closed ", refused)
	s.told("https://a.example/", "listener a, port 443 ", "answer Service shop/blue port 80", "live since ")

	s.write("c.yaml", secretNamed("c", b.Certificate, b.PrivateKey))
	s.soon("GET https://b2.example/ -> 200 blue")
	s.told("https://b2.example/", "listener b, port 443 ", "answer Service shop/blue port 80", "live since ")
	s.told("https://b.example/", "closed ")
}

// TestExplainOfARefusedBackend: the endpoints are those of the cluster that was accepted, and the rule is not live as
// it is now.
func TestExplainOfARefusedBackend(t *testing.T) {
	t.Parallel()
	s := open(t, shop(), envoyAt(withoutAuthorities(t)))
	out := func(name, port, tls string) string {
		return "{apiVersion: gateway.networking.x-k8s.io/v1alpha1, kind: XBackend, metadata: {name: " + name +
			", namespace: shop}, spec: {type: " +
			"ExternalHostname, externalHostname: {hostname: localhost}, port: {number: " + port + "}" + tls + "}}\n"
	}
	rule := func(name string) string {
		return "{matches: [{path: {value: /" + name +
			"}}], backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: " + name + "}]}"
	}
	const validated = ", tls: {mode: ServerOnly, validation: {hostname: localhost, wellKnownCACertificates: System}}"
	s.write("out.yaml", routeFile("out", "out.example", rule("old"), rule("new"))+"---\n"+out("old", "${blue}", "")+
		"---\n"+out("new", "10", validated))
	s.soon("GET http://out.example/old -> 200 blue\nGET http://out.example/new -> 503")
	const refused = "live no: the proxy rejected it: XBackend shop/%s: Error adding/updating cluster(s) ..."
	s.told("http://out.example/old", "answer XBackend shop/old, endpoints that can get it: localhost:"+s.fill("${blue}"),
		"live since ")
	s.told("http://out.example/new", "answer 503, by the proxy: XBackend shop/new, no endpoint",
		fmt.Sprintf(refused, "new")+"ca-certificates.crt")

	s.write("old.yaml", out("old", "10", validated))
	s.write("out.yaml", routeFile("out", "out.example", rule("old"), rule("new"))+"---\n"+out("new", "10", validated))
	s.says("xbackend/shop/old", "web: cardea.dev/Programmed=False RejectedByProxy: Error adding")
	s.expect("GET http://out.example/old -> 200 blue")
	s.told("http://out.example/old", "answer XBackend shop/old, endpoints that can get it: localhost:"+s.fill("${blue}"),
		fmt.Sprintf(refused, "old")+keptBefore)
	var o explain.Object
	if err := s.Program.Read("/explain/xbackend/shop/old", &o); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(o.Made, func(m explain.RenderedPart) bool {
		return m.Type == "Cluster" && m.Live.Refused != "" &&
			m.Live.Kept
	}) {
		t.Errorf("made %+v, want the cluster refused, and the one before kept", o.Made)
	}
	s.write("old.yaml", out("old", "${green}", ""))
	s.soon("GET http://out.example/old -> 200 green")
	s.told("http://out.example/old", "endpoints that can get it: localhost:"+s.fill("${green}"), "live since ")
}
