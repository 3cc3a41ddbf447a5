package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// differs compares what `cardea diff` prints of an edit; "..." stands for anything.
func (s *stage) differs(edit, want string) {
	s.t.Helper()
	dir := s.t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "edit.yaml"), []byte(s.fill(edit)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(Build(s.t), "diff", dir)
	cmd.Env = append(os.Environ(), "CARDEA_SERVER="+s.Admin)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	if !matches(string(out), s.fill(want)) {
		s.t.Errorf("cardea diff says\n%s\nwant\n%s", out, s.fill(want))
	}
}

// TestDiffOfARefusedBackend: an edit is compared with the cluster that proxies have, not with the one that they refused.
func TestDiffOfARefusedBackend(t *testing.T) {
	t.Parallel()
	s := open(t, shop(), envoyAt(withoutAuthorities(t)))
	old := func(port, tls string) string {
		return "{apiVersion: gateway.networking.x-k8s.io/v1alpha1, kind: XBackend, metadata: {name: old, namespace: shop}, spec: {type: " +
			"ExternalHostname, externalHostname: {hostname: localhost}, port: {number: " + port + "}" + tls + "}}\n"
	}
	s.write("out.yaml", routeFile("out", "out.example", "{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: old}]}"))
	s.write("old.yaml", old("${blue}", ""))
	s.soon("GET http://out.example/ -> 200 blue")
	s.write("old.yaml", old("10", ", tls: {mode: ServerOnly, validation: {hostname: localhost, wellKnownCACertificates: System}}"))
	s.says("xbackend/shop/old", "web: cardea.dev/Programmed=False RejectedByProxy: Error adding")
	s.expect("GET http://out.example/ -> 200 blue")
	s.differs(old("${blue}", ""), "objects (1)\n  ~ XBackend shop/old\n")
	s.differs(old("${green}", ""), "objects (1)\n  ~ XBackend shop/old\nother resources (1)\n  ~ shop/web: Cluster xbackend/shop/old\n"+
		"requests that would go elsewhere (1)\n  shop/web: GET http://out.example:...\n"+
		"    before: XBackend shop/old as it was accepted last\n    after:  XBackend shop/old at localhost:${green}\n")
}
