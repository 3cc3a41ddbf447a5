package live

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"
)

// differs waits until `cardea diff` prints this of an edit; "..." stands for anything. While the proxy is asked what it
// refused, it prints another.
func (s *stage) differs(edit, want string) {
	s.t.Helper()
	dir := s.t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "edit.yaml"), []byte(s.fill(edit)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	cardea := e2e.Build(s.t) // it may take longer than WaitTimeout
	e2e.Eventually(s.t, func() error {
		cmd := exec.Command(cardea, "diff", dir)
		cmd.Env = append(os.Environ(), "CARDEA_SERVER="+s.Admin)
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			return err
		}
		if !e2e.Matches(string(out), s.fill(want)) {
			return fmt.Errorf("cardea diff says\n%s\nwant\n%s", out, s.fill(want))
		}
		return nil
	})
}

// TestDiffOfARefusedBackend: an edit is compared with the cluster that proxies have, not with the one that they
// refused.
func TestDiffOfARefusedBackend(t *testing.T) {
	t.Parallel()
	s := open(t, shop(), envoyAt(withoutAuthorities(t)))
	old := func(port, tls string) string {
		return "{apiVersion: gateway.networking.x-k8s.io/v1alpha1, kind: XBackend, metadata: {name: old, namespace: " +
			"shop}, spec: {type: " +
			"ExternalHostname, externalHostname: {hostname: localhost}, port: {number: " + port + "}" + tls + "}}\n"
	}
	s.write("out.yaml", routeFile("out", "out.example",
		"{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: old}]}"))
	s.write("old.yaml", old("${blue}", ""))
	s.soon("GET http://out.example/ -> 200 blue")
	s.write("old.yaml",
		old("10", ", tls: {mode: ServerOnly, validation: {hostname: localhost, wellKnownCACertificates: System}}"))
	s.says("xbackend/shop/old", "web: cardea.dev/Programmed=False RejectedByProxy: Error adding")
	s.expect("GET http://out.example/ -> 200 blue")
	const changed = "objects (1)\n  ~ XBackend shop/old\n      spec.port.number: 10 -> "
	const noTLS = "\n      spec.tls.mode: ServerOnly -> None\n      spec.tls.validation: {... -> none\n"
	s.differs(old("${blue}", ""), changed+"${blue}"+noTLS)
	s.differs(old("${green}", ""),
		changed+"${green}"+noTLS+"other resources (1)\n  ~ shop/web: Cluster xbackend/shop/old\n"+
			"requests that would go elsewhere (1)\n  shop/web: GET http://out.example:...\n"+
			"    before: XBackend shop/old as it was accepted last\n    after:  XBackend shop/old at localhost:${green}\n")
}

// TestDiffOfARefusedFilterChain: before an edit are the hosts that the filter chain serves which was accepted, though
// what was rendered closes them. The other listeners of the port answer 421 to what is another's host; to those a host
// of what was refused is one.
func TestDiffOfARefusedFilterChain(t *testing.T) {
	t.Parallel()
	s, _ := withARefusedCertificate(t)
	s.write("gateway.yaml", secureGateway("a a.example a", "b b2.example c", "c c.example c"))
	s.says("gateway/shop/web", "b: cardea.dev/Programmed=False RejectedByProxy: Error adding/updating listener(s) ")
	s.soon("GET https://b.example/ -> 200 blue certificate=b.example\nGET https://b2.example/ -> closed")

	const blue, green, none = "Service shop/blue port 80", "Service shop/green port 80",
		"closed: no filter chain matches its SNI"
	becomes := func(request, before, after string) string {
		return fmt.Sprintf("  shop/web: GET %s\n    before: %s\n    after:  %s\n", request, before, after)
	}
	requests := func(list ...string) string {
		return fmt.Sprintf("...requests that would go elsewhere (%d)\n%s", len(list), strings.Join(list, ""))
	}
	s.differs(secureGateway("a a.example a", "b b.example b", "c c.example c"),
		"objects (1)\n  ~ Gateway shop/web\n      spec.listeners[b].hostname: b2.example -> b.example\n...routes (5)\n"+
			requests(
				becomes("https://b.example:20443/ --sni a.example (and 2 like it)", "404", "421"),
				becomes("https://b2.example:20443/ --sni a.example (and 2 like it)", "421", "404"),
				becomes("https://b2.example:20443/ --sni b.example (and 2 like it)", blue, "404"),
			))
	s.differs(secureGateway("a a.example a", "b b3.example b", "c c.example c"), requests(
		becomes("https://b.example:20443/", blue, none),
		becomes("https://b2.example:20443/ --sni a.example (and 2 like it)", "421", "404"),
		becomes("https://b2.example:20443/ --sni b3.example (and 2 like it)", none, "404"),
		becomes("https://b3.example:20443/", none, blue),
		becomes("https://b3.example:20443/ --sni a.example (and 2 like it)", "404", "421"),
		becomes("https://b3.example:20443/witness (and 1 like it)", none, blue),
	))
	// What was refused and is not edited stays refused: b2.example is at no side.
	s.differs(secureGateway("a a2.example a", "b b2.example c", "c c.example c"), requests(
		becomes("https://a.example:20443/", blue, none),
		becomes("https://a.example:20443/ --sni a2.example (and 2 like it)", none, "404"),
		becomes("https://a.example:20443/ --sni b.example (and 2 like it)", "421", "404"),
		becomes("https://a2.example:20443/", none, blue),
		becomes("https://a2.example:20443/ --sni b.example (and 2 like it)", "404", "421"),
		becomes("https://a2.example:20443/witness (and 1 like it)", none, blue),
	))
	// What the kept chain serves stays as it is while its listener is refused.
	s.differs(routeFile("web", "*.example", to("green")), requests(
		becomes("http://any.example:20080/ (and 2 like it)", blue, green),
		becomes("https://a.example:20443/ (and 2 like it)", blue, green),
		becomes("https://b2.example:20443/ --sni b.example (and 2 like it)", blue, green),
	))
	s.write("route.yaml", routeFile("web", "*.example", to("green")))
	s.soon("GET https://a.example/ -> 200 green")
	s.expect("GET https://b.example/ -> 200 blue")
}
