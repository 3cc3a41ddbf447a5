package live

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/deliver/process"
)

// TestAResolverThatIsSilent has an XBackend whose name nobody answers for: nothing else waits for it.
func TestAResolverThatIsSilent(t *testing.T) {
	t.Parallel()
	asked, conf := silentResolver(t)
	s := prepare(t, t.TempDir(), shop())
	s.write("far.yaml", `apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: far, namespace: shop}
spec: {type: ExternalHostname, port: {number: 80}, externalHostname: {hostname: nobody.far.test}}
`)
	s.write("far-route.yaml", routeFile("far", "far.example",
		"backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: far}]"))
	s.start(envoyAt(withFile(t, conf, "/etc/resolv.conf")))
	s.Ready(t)
	s.expect("GET http://shop.example/ -> 200 blue\nGET http://far.example/ -> 503")
	select {
	case <-asked: // it is this resolver that the proxy uses
	case <-time.After(e2e.WaitTimeout):
		t.Error("the proxy did not ask the resolver")
	}
	s.says("httproute/shop/far", "web: Accepted=True", "web: ResolvedRefs=True")

	// Clusters and routes come and go while that one is still being asked for.
	s.write("green-route.yaml", routeFile("green", "green.example", to("green")))
	s.soon("GET http://green.example/ -> 200 green")
	s.write("red.yaml", serviceFile("red", "red"))
	s.write("route.yaml", routeFile("web", "shop.example", to("red")))
	s.soon("GET http://shop.example/ -> 200 red")
	s.live("httproute/shop/web", 2)
	s.says("gateway/shop/web", "Programmed=True")
}

// silentResolver takes questions and never answers. It tells when it was asked, and how a resolv.conf names it.
func silentResolver(t testing.TB) (asked <-chan struct{}, conf string) {
	t.Helper()
	at := e2e.Address()
	conn, err := net.ListenPacket("udp", net.JoinHostPort(at, "53"))
	if err != nil {
		t.Skipf("no right to bind port 53: %v", err)
	}
	first := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			if _, _, err := conn.ReadFrom(make([]byte, 512)); err != nil {
				return
			}
			if n == 0 {
				close(first)
			}
		}
	}()
	t.Cleanup(func() { conn.Close() })
	conf = filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, "nameserver %s\n", at), 0o644); err != nil {
		t.Fatal(err)
	}
	return first, conf
}

// withoutAuthorities is an Envoy on a machine that trusts no authorities.
func withoutAuthorities(t testing.TB) string {
	t.Helper()
	const authorities = "/etc/ssl/certs/ca-certificates.crt"
	if _, err := os.Stat(authorities); err != nil {
		t.Skip("this machine has no such file to hide: ", err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return withFile(t, empty, authorities)
}

// withFile is an Envoy that sees a file in another one's place: it has a view of the file system of its own.
func withFile(t testing.TB, file, at string) string {
	t.Helper()
	binary, err := process.FindPath(bootstrap.Program())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "envoy")
	script := fmt.Sprintf("#!/bin/sh\nexec unshare -m sh -c 'mount --bind %s %s && exec %s \"$@\"' envoy \"$@\"\n", file,
		at, binary)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path, "--version").CombinedOutput(); err != nil {
		t.Skipf("no right to give a process a file system of its own: %v: %s", err, out)
	}
	return path
}
