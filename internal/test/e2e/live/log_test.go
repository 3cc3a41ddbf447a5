package live

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/test/testcert"
)

// at is where a listener's port is bound.
func (s *stage) at(port int) string { return net.JoinHostPort(s.Address, fmt.Sprint(port+e2e.Offset)) }

// TestTheLogTellsOfMistakesOfMeaning: a line when a finding comes, and one when it goes.
func TestTheLogTellsOfMistakesOfMeaning(t *testing.T) {
	t.Parallel()
	right := granted(testcert.SelfSigned("shop.example"))
	s := open(t, right)
	s.calm()
	if said := s.book.find("finding"); len(said) > 0 {
		t.Errorf("without a mistake: %v", said)
	}
	file := func(name string) string {
		_, text, _ := strings.Cut(right, "-- "+name+" --\n")
		text, _, _ = strings.Cut(text, "-- ")
		return text
	}
	for _, c := range []struct{ mistake, file, from, to, line string }{
		{"a wrong port", "route.yaml", "port: 80", "port: 81",
			"route.yaml:8: HTTPRoute shop/web: spec.rules[0].backendRefs[0]: Service store/blue has no port 81; it has 80"},
		{"a missing Secret", "gateway.yaml", "name: shop,", "name: sohp,",
			"gateway.yaml:8: Gateway shop/web: spec.listeners[1].tls.certificateRefs[0]: Secret store/sohp does not exist"},
		{"a missing grant", "z-grants.yaml", "namespace: shop}", "namespace: sohp}",
			"HTTPRoute shop/web: spec.rules[0].backendRefs[0]: no ReferenceGrant in namespace store lets HTTPRoutes of"},
		{"a wrong section", "route.yaml", "{name: web}", "{name: web, sectionName: htp}",
			"route.yaml:5: HTTPRoute shop/web: spec.parentRefs[0]: shop/web has no listener \"htp\""},
		{"another Gateway's name", "route.yaml", "{name: web}", "{name: wbe}",
			"route.yaml:5: HTTPRoute shop/web: spec.parentRefs[0]: Gateway shop/wbe does not exist"},
		{"a class", "more.yaml", "kind: Nothing", "kind: Nothing", ""},
	} {
		text, mended := strings.Replace(file(c.file), c.from, c.to, 1), file(c.file)
		if c.mistake == "a class" { // of a Gateway that was not there before
			text = strings.Replace(strings.Replace(gatewayFile(82), "cardea", "cadrea", 1), "name: web", "name: more", 1)
			mended = "apiVersion: v1\nkind: Namespace\nmetadata: {name: more}\n"
			c.line = "more.yaml:5: Gateway shop/more: spec.gatewayClassName: GatewayClass cadrea does not exist, so " +
				"no controller"
		}
		s.write(c.file, text)
		s.reads("finding", `"level":"ERROR"`, strings.ReplaceAll(c.line, `"`, `\"`))
		s.write(c.file, mended)
		_, said, placed := strings.Cut(c.line, ".yaml:")
		if _, said, placed = strings.Cut(said, ": "); !placed {
			said = c.line
		}
		s.reads("finding gone", strings.ReplaceAll(said, `"`, `\"`))
		s.calm()
	}
	s.write("backend.yaml", strings.Replace(file("backend.yaml"), "{addresses: [127.0.0.1]}", "", 1))
	empty := "Service store/blue: port 80 has no ready endpoint: requests that Gateway shop/web sends there fail"
	s.reads("finding", `"level":"WARN"`, "backend.yaml:1: "+empty)
	s.write("backend.yaml", file("backend.yaml"))
	s.reads("finding gone", empty)
	s.calm()
	come, gone := len(s.book.find("finding")), len(s.book.find("finding gone"))
	if come != gone {
		t.Errorf("%d findings came and %d went", come, gone)
	}
}

// TestTheLogTellsWhereGatewaysServe: a line for each Gateway at the start, and then what changes. An edit of a listener
// that stays where it is changes nothing of that.
func TestTheLogTellsWhereGatewaysServe(t *testing.T) {
	t.Parallel()
	first, second := testcert.SelfSigned("shop.example"), testcert.SelfSigned("shop.example")
	s := prepare(t, t.TempDir(), granted(first))
	s.start()
	s.reads(fmt.Sprintf("serving shop/web at %s, %s", s.at(80), s.at(443)))
	told := func() int {
		return len(s.book.find("port bound")) + len(s.book.find("port freed")) + len(s.book.find("gateway stopped"))
	}

	s.write("secret.yaml", strings.ReplaceAll(secretFile(second.Certificate, second.PrivateKey), "namespace: shop",
		"namespace: store"))
	e2e.Eventually(t, func() error { return s.handshake(second) })
	const https = "  - {name: https, port: 443, protocol: HTTPS, " +
		"tls: {certificateRefs: [{name: shop, namespace: store}]}}\n"
	s.write("gateway.yaml", gatewayFile(80)+strings.Replace(https, "port: 443", "hostname: shop.example, port: 443", 1))
	s.says("gateway/shop/web", "https: Programmed=True")
	if n := told(); n > 0 {
		t.Errorf("edits of what stays bound told %d times of ports", n)
	}

	busy := s.hold(s.Address, 82)
	s.write("gateway.yaml", gatewayFile(81, 82)+https)
	s.reads("port bound", "shop/web", s.at(81))
	s.reads("port freed", "shop/web", s.at(80))
	s.reads("finding", "Gateway shop/web: spec.listeners[1]", "rejected")
	if said := s.book.find("port bound", s.at(82)); len(said) > 0 {
		t.Errorf("a port that another process has: %v", said)
	}
	busy.Close()
	s.reads("port bound", s.at(82))
	s.reads("finding gone", "Gateway shop/web: spec.listeners[1]", "rejected")

	s.remove("gateway.yaml")
	s.reads("gateway stopped", "shop/web", s.at(81)+", "+s.at(82)+", "+s.at(443))
	s.write("gateway.yaml", gatewayFile(80))
	s.reads(fmt.Sprintf("serving shop/web at %s", s.at(80)))
}

// TestTheLogIsBounded: of thousands of findings at once, some are told, and how many more there are.
func TestTheLogIsBounded(t *testing.T) {
	t.Parallel()
	s := open(t, shop())
	var valid, invalid strings.Builder
	for i := range 300 {
		valid.WriteString("---\n" + routeFile(fmt.Sprintf("many-%03d", i), fmt.Sprintf("many-%03d.example", i),
			to("nobody")))
		invalid.WriteString("---\n" + strings.Replace(routeFile(fmt.Sprintf("bad-%03d", i), "many.example", to("blue")),
			"hostnames", "hostname", 1))
	}
	s.write("many.yaml", valid.String())
	s.reads("more findings: see cardea get findings", `"more":280`)
	if n := len(s.book.find("finding", "HTTPRoute shop/many-")); n != 20 {
		t.Errorf("%d lines, want 20", n)
	}
	s.write("many.yaml", invalid.String())
	s.reads("more problems in the folder: see cardea get findings", `"more":580`)
	if n := len(s.book.find("problem in the folder", "HTTPRoute shop/bad-")); n != 20 {
		t.Errorf("%d lines of problems, want 20", n)
	}
	s.remove("many.yaml")
	s.reads("more findings gone", `"more":280`)
}
