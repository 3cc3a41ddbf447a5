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

	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/test/testcert"
)

// readsFiles is a DataPlane that Gateways name to have proxies that read files.
const readsFiles = `apiVersion: cardea.dev/v1alpha1
kind: DataPlane
metadata: {name: files, namespace: shop}
spec: {proxy: EnvoyConfigMap}
`

// onFiles has a Gateway name it.
func onFiles(gateway string) string {
	return strings.Replace(gateway, "spec:\n",
		"spec:\n  infrastructure: {parametersRef: {group: cardea.dev, kind: DataPlane, name: files}}\n", 1)
}

// shopOnFiles is shop, with proxies that read files.
func shopOnFiles() string {
	return strings.Replace(shop(), gatewayFile(80), onFiles(gatewayFile(80)), 1) + archive("plane.yaml", readsFiles)
}

// TestEditsOfFilesLoseNoRequest edits all that an edit takes several steps for, under 500 requests a second.
func TestEditsOfFilesLoseNoRequest(t *testing.T) {
	s := prepare(t, t.TempDir(), shopOnFiles())
	pair := testcert.SelfSigned("shop.example")
	s.write("secret.yaml", secretFile(pair.Certificate, pair.PrivateKey))
	s.write("gateway.yaml", onFiles(secureGateway("https shop.example shop")))
	s.start()
	s.Ready(t)
	s.expect("GET http://shop.example/ -> 200 blue")
	load := s.load(500, "shop.example", "blue green")
	for round := range 4 {
		name := fmt.Sprintf("extra-%d", round)
		s.write(name+".yaml", serviceFile(name, "green"))
		s.write("route.yaml", routeFile("web", "shop.example", to(name)))
		s.soon("GET http://shop.example/ *5 -> 200 green")

		pair = testcert.SelfSigned("shop.example")
		s.write("secret.yaml", secretFile(pair.Certificate, pair.PrivateKey))
		e2e.Eventually(t, func() error { return s.handshake(pair) })

		s.write("route.yaml", routeFile("web", "shop.example",
			"backendRefs: [{name: blue, port: 80, weight: 9}, {name: "+name+", port: 80, weight: 0}]"))
		s.soon("GET http://shop.example/ *5 -> 200 blue")
		s.write("route.yaml", routeFile("web", "shop.example", to("blue")))
		s.remove(name + ".yaml")
		s.says("httproute/shop/web", "web: cardea.dev/Programmed=True")
	}
	asked, failed := load.end()
	if t.Logf("%d requests", asked); len(failed) > 0 {
		t.Errorf("%d of %d requests failed, the first: %v", len(failed), asked, failed[0])
	}
}

// TestLoopsOfProxiesThatReadFiles: a filter that routes turn on as it is in the list is on in files, too.
func TestLoopsOfProxiesThatReadFiles(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), shopOnFiles())
	s.write("out.yaml", hostFile("out", e2e.Backend(t, "out"))+"---\n"+routeFile("out", "out.example",
		"backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: out}]"))
	s.start()
	s.Ready(t)
	s.expect(`
		GET http://out.example/ -> 200 out host=out.example header.cdn-loop=cardea
		GET http://out.example/ -H cdn-loop:cardea,cardea,cardea,cardea,cardea -> 508`)
}

// TestAProxyThatReadsFilesNeedsNobody: with Cardea gone, a proxy that is started again serves.
func TestAProxyThatReadsFilesNeedsNobody(t *testing.T) {
	t.Parallel()
	work, err := os.MkdirTemp("", "e2e-") // not t.TempDir: a Unix socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(work) })
	s := open(t, shopOnFiles(), func(o *standalone.Options) { o.WorkDir = filepath.Join(work, "w") })
	s.expect("GET http://shop.example/ -> 200 blue")
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.reads("process started").PID))
	if err != nil {
		t.Skipf("this system does not tell a process's command: %v", err)
	}
	command := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	s.Stop(t)
	if s.try("GET http://shop.example/ -> 200 blue") == nil {
		t.Fatal("the proxy outlives Cardea")
	}
	proxy := exec.Command(command[0], command[1:]...)
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = proxy.Process.Kill()
		_ = proxy.Wait()
	})
	s.soon("GET http://shop.example/ -> 200 blue")
}

// manyListeners is a Gateway on files that needs more files than its proxy can follow.
func manyListeners(name string, port int, pair testcert.Pair) string {
	text := strings.Replace(gatewayFile(port), "{name: web,", "{name: "+name+",", 1)
	secrets := ""
	for i := range 63 {
		text += fmt.Sprintf("  - {name: s-%d, hostname: s-%d.example, port: 443, protocol: HTTPS, "+
			"tls: {certificateRefs: [{name: s-%d}]}}\n", i, i, i)
		secrets += "---\n" + secretNamed(fmt.Sprintf("s-%d", i), pair.Certificate, pair.PrivateKey)
	}
	return onFiles(text) + secrets
}

// TestTwoDataPlanes: a route on two Gateways, of which one can't write what is current, has two true statuses, and
// whoever asks is told which data plane is spoken of. What was written last serves on.
func TestTwoDataPlanes(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), shop()+archive("plane.yaml", readsFiles))
	both := func(service string) string {
		return strings.Replace(routeFile("web", "shop.example", to(service)), "[{name: web}]",
			"[{name: web}, {name: files}]", 1)
	}
	second := strings.Replace(onFiles(gatewayFile(81)), "{name: web,", "{name: files,", 1)
	s.write("second.yaml", second)
	s.write("route.yaml", both("blue"))
	s.start()
	s.Ready(t)
	s.expect("GET http://shop.example/ -> 200 blue")
	s.expect("GET http://shop.example:81/ -> 200 blue")
	s.says("httproute/shop/web", "web: cardea.dev/Programmed=True", "files: cardea.dev/Programmed=True")
	s.told("http://shop.example/", "gateway shop/web", "its data plane is Envoy\n",
		"live since ... acknowledged by the proxy")
	s.told("http://shop.example:81/", "gateway shop/files", "its data plane is EnvoyConfigMap",
		"live written ... the proxies read it by themselves, and acknowledge nothing")
	s.differs(both("green"), "...data planes (2)\n  shop/files: EnvoyConfigMap\n  shop/web: Envoy\n...")
	s.differs(gatewayFile(80)+"---\n"+strings.Replace(gatewayFile(81), "{name: web,", "{name: files,", 1),
		"...data planes (1)\n  shop/files: EnvoyConfigMap, would be Envoy: its proxies are replaced...")

	s.write("second.yaml", manyListeners("files", 81, testcert.SelfSigned("shop.example")))
	s.says("gateway/shop/files", "Programmed=False TooLarge")
	s.noted("gateways/shop/files", kind.StaleAnnotation, "its proxies keep the configuration that was written before: "+
		"135 files are needed")
	s.noted("gateways/shop/web", kind.StaleAnnotation, "")
	s.write("route.yaml", both("green"))
	s.soon("GET http://shop.example/ -> 200 green")
	s.says("httproute/shop/web", "web: cardea.dev/Programmed=True", "files: cardea.dev/Programmed=False TooLarge")
	s.expect("GET http://shop.example:81/ -> 200 blue")
	s.told("http://shop.example:81/", "live no: it can't be written: 135 files are needed, but a proxy can follow 100 "+
		"at most")

	s.write("second.yaml", second)
	s.soon("GET http://shop.example:81/ -> 200 green")
	s.says("gateway/shop/files", "Programmed=True")
	s.says("httproute/shop/web", "files: cardea.dev/Programmed=True")
	s.noted("gateways/shop/files", kind.StaleAnnotation, "")
}

// TestAnotherDataPlane: a Gateway that is live gets another data plane, and back.
func TestAnotherDataPlane(t *testing.T) {
	t.Parallel()
	s := open(t, shop()+archive("plane.yaml", readsFiles))
	for i, c := range []struct{ gateway, says string }{
		{onFiles(gatewayFile(80)), "written "}, {gatewayFile(80), "since "}, {onFiles(gatewayFile(80)), "written "},
	} {
		s.expect("GET http://shop.example/ -> 200 blue")
		s.write("gateway.yaml", c.gateway)
		s.told("http://shop.example/", "live "+c.says)
		e2e.Eventually(t, func() error {
			if n := len(s.book.find("process started")); n != i+2 {
				return fmt.Errorf("%d proxies were started, want %d", n, i+2)
			}
			return nil
		})
		s.write("route.yaml", routeFile("web", "shop.example", to("green")))
		s.soon("GET http://shop.example/ -> 200 green")
		s.write("route.yaml", routeFile("web", "shop.example", to("blue")))
		s.soon("GET http://shop.example/ -> 200 blue")
	}
}

// TestAProxyOfFilesThatLeaves: its ports are closed when its Gateway is deleted.
func TestAProxyOfFilesThatLeaves(t *testing.T) {
	t.Parallel()
	s := open(t, shopOnFiles())
	s.expect("GET http://shop.example/ -> 200 blue")
	s.remove("gateway.yaml")
	e2e.Eventually(t, func() error {
		if s.try("GET http://shop.example/ -> 200 blue") == nil {
			return errors.New("the port is still open")
		}
		return nil
	})
}
