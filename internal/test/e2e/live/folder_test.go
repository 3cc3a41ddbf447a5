package live

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/app/standalone"
)

func TestABrokenObjectKeepsItsLastGoodVersion(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), shop())
	pair := func(web, second string) string {
		return routeFile("web", "shop.example", web) + "---\n" + routeFile("second", "second.example", second)
	}
	s.write("route.yaml", pair(to("blue"), to("blue")))
	s.start()
	s.Ready(t)
	s.expect("GET http://shop.example/ -> 200 blue\nGET http://second.example/ -> 200 blue")

	// A typo in the first document; the second one's edit is taken.
	broken := strings.Replace(pair(to("green"), to("green")), "hostnames", "hostname", 1)
	s.write("route.yaml", broken)
	s.soon("GET http://second.example/ -> 200 green")
	s.expect("GET http://shop.example/ -> 200 blue")
	s.reads("problem in the folder", "route.yaml:6", "HTTPRoute shop/web", "spec.hostname",
		"last good version stays in use")

	// A value that the schema refuses.
	s.write("route.yaml", pair("{matches: [{path: {value: no-slash}}], "+to("green")+"}", to("blue")))
	s.soon("GET http://second.example/ -> 200 blue")
	s.expect("GET http://shop.example/ -> 200 blue")
	s.reads("problem in the folder", "route.yaml:8", "HTTPRoute shop/web", "spec.rules[0].matches[0].path")

	// Text that is no YAML.
	s.write("route.yaml", "]"+pair(to("green"), to("green")))
	s.soon("GET http://second.example/ -> 200 green")
	s.expect("GET http://shop.example/ -> 200 blue")
	s.write("route.yaml", "\xff\xfe"+pair(to("green"), to("blue")))
	s.reads("problem in the folder", "route.yaml", "UTF-8")
	s.expect("GET http://shop.example/ -> 200 blue\nGET http://second.example/ -> 200 green")

	s.write("route.yaml", pair(to("green"), to("green")))
	s.soon("GET http://shop.example/ -> 200 green")
	s.reads("problems solved", `"left":0`)
}

func TestAnObjectInTwoFiles(t *testing.T) {
	t.Parallel()
	s := open(t, shop())
	s.write("zz.yaml", routeFile("web", "shop.example", to("green")))
	s.reads("problem in the folder", "zz.yaml:1", "HTTPRoute shop/web", "route.yaml")
	s.expect("GET http://shop.example/ -> 200 blue")
	// The first one goes: the other serves, without a gap.
	s.remove("route.yaml")
	s.soon("GET http://shop.example/ -> 200 green")
	s.reads("problems solved")
}

func TestAFolderThatComesLate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "late")
	s := &stage{Program: &e2e.Program{Dir: dir}, t: t, book: &logbook{t: t}, ports: map[string]int{}}
	s.start()
	s.reads("problem in the folder", dir, "does not exist; create it, or start Cardea with the right path")
	// What could not be read is not an empty folder, though the rest of the world is complete.
	s.says("gatewayclass/cardea", "Accepted=True")
	if body, err := s.Get("/readyz"); err == nil || !strings.Contains(err.Error(), dir+": the folder does not exist") {
		t.Errorf("ready without a folder: %s, or it is not said: %v", body, err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.reads("problem in the folder", "late", "has no .yaml")
	s.Ready(t)
	s.write("gateway.yaml", gatewayFile(80))
	s.write("route.yaml", routeFile("web", "shop.example", to("blue")))
	s.write("blue.yaml", serviceFile("blue", "blue"))
	s.soon("GET http://shop.example/ -> 200 blue")
}

func TestAFolderThatVanishes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "shop")
	s := prepare(t, dir, shop())
	s.start()
	s.Ready(t)
	away := dir + ".away"
	if err := os.Rename(dir, away); err != nil {
		t.Fatal(err)
	}
	s.reads("problem in the folder", "does not exist", "stay in use")
	s.expect("GET http://shop.example/ -> 200 blue")
	if err := s.saysNow("httproute/shop/web", "web: Accepted=True", "web: cardea.dev/Programmed=True"); err != nil {
		t.Error(err)
	}
	// It comes back changed.
	s.Dir = away
	s.write("route.yaml", routeFile("web", "shop.example", to("green")))
	s.Dir = dir
	if err := os.Rename(away, dir); err != nil {
		t.Fatal(err)
	}
	s.soon("GET http://shop.example/ -> 200 green")
	s.write("route.yaml", routeFile("web", "shop.example", to("blue")))
	s.soon("GET http://shop.example/ -> 200 blue")
	// Every file deleted is not a failed read: it is what was asked for.
	for _, name := range []string{"route.yaml", "blue.yaml", "green.yaml"} {
		s.remove(name)
	}
	s.soon("GET http://shop.example/ -> 404")
}

// TestAFolderThatIsMadeAnew is a deployment by rm, mkdir and cp: not one request fails meanwhile.
func TestAFolderThatIsMadeAnew(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "shop")
	s := prepare(t, dir, shop())
	s.start()
	s.Ready(t)
	l := s.load(rate, "shop.example", "blue green")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.reads("problem in the folder", "shop", "created again and has no .yaml, .yml or .json file yet", "stay in use")
	s.expect("GET http://shop.example/ -> 200 blue")
	s.write("all.yaml", gatewayFile(80)+"---\n"+serviceFile("green", "green")+"---\n"+
		routeFile("web", "shop.example", to("green")))
	s.soon("GET http://shop.example/ -> 200 green")
	s.reads("problems solved", `"left":0`)
	if asked, failed := l.end(); len(failed) > 0 || asked == 0 {
		t.Errorf("%d of %d requests failed, such as %q", len(failed), asked, failed[:min(len(failed), 5)])
	}
}

// TestAFileThatIsEmptiedFirst is "helm template chart > all.yaml": the shell empties the file, and its content comes
// much later. Not one request fails meanwhile, and the file's ReferenceGrant permits on.
func TestAFileThatIsEmptiedFirst(t *testing.T) {
	t.Parallel()
	all := func(service string) string {
		backend := strings.ReplaceAll(serviceFile(service, service), "namespace: shop", "namespace: store")
		return gatewayFile(80) + "---\n" + backend + "---\n" + grantFile("backends", "HTTPRoute", "Service") + "---\n" +
			routeFile("web", "shop.example", "backendRefs: [{name: "+service+", namespace: store, port: 80}]")
	}
	s := prepare(t, t.TempDir(), archive("all.yaml", all("blue"), "old.yaml", routeFile("old", "old.example", to("none"))))
	s.start()
	s.Ready(t)
	l := s.load(rate, "shop.example", "blue green")
	file, err := os.Create(filepath.Join(s.Dir, "all.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const held = "all.yaml: the file holds no object; the objects last read from it stay in use until it is written"
	s.reads("problem in the folder", `"level":"WARN"`, held)
	s.expect("GET http://old.example/ -> 500")
	s.remove("old.yaml") // when that is gone, what was emptied before would be
	s.soon("GET http://old.example/ -> 404")
	s.expect("GET http://shop.example/ -> 200 blue")
	e2e.Eventually(t, func() error { return s.finds(true, "stay in use until it is written") })
	if _, err := file.WriteString(s.fill(all("green"))); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	s.soon("GET http://shop.example/ -> 200 green")
	s.calm()
	s.unharmed(l)
}

// TestAnEmptyFile: a file of comments only is a warning, of check and of a running Cardea; the exit code is that of
// none.
func TestAnEmptyFile(t *testing.T) {
	t.Parallel()
	s := open(t, shop()+archive("more/none.yaml", "# nothing yet\n"))
	if err := s.finds(true, "the file holds no object"); err != nil {
		t.Error(err)
	}
	var out strings.Builder
	found, err := standalone.Check(t.Context(), standalone.Options{
		Dialects: e2e.DataPlanes(t), Dir: s.Dir, Bind: []string{"127.0.0.1"},
	}, &out)
	const want = "warning: more/none.yaml: the file holds no object\n"
	if err != nil || found != 0 || !strings.Contains(out.String(), want) {
		t.Errorf("%v, %d errors:\n%swant\n%s", err, found, out.String(), want)
	}
}

// TestAMistypedClass: a Gateway whose class is mistyped is served as it was, and nothing else of that edit counts,
// until the name is mended. With the class of another controller it is given away. At a start there is nothing to stay
// as.
func TestAMistypedClass(t *testing.T) {
	t.Parallel()
	s := open(t, shop())
	of := func(class string, ports ...int) {
		s.write("gateway.yaml", strings.Replace(gatewayFile(ports...), "cardea", class, 1))
	}
	s.differs(strings.Replace(gatewayFile(81), "cardea", "cadrea", 1), "refused (1)\n  Gateway shop/web: "+
		"spec.gatewayClassName: GatewayClass cadrea does not exist; did you mean cardea?; the version before stays in use\n")
	of("cadrea", 81)
	s.reads("problem in the folder", "gateway.yaml:1: Gateway shop/web: spec.gatewayClassName: "+
		"GatewayClass cadrea does not exist; did you mean cardea?; its last good version stays in use")
	s.write("green.yaml", serviceFile("green", "green")+"---\n"+routeFile("web", "green.example", to("green")))
	s.remove("route.yaml") // a later edit takes effect all the same
	s.soon("GET http://green.example/ -> 200 green")
	if err := s.try("GET http://green.example:81/ -> 200 green"); err == nil {
		t.Error("a port of the edit with the mistake serves")
	}
	of("cardea", 81)
	s.soon("GET http://green.example:81/ -> 200 green")
	s.calm()
	s.write("class.yaml", "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: theirs}\n"+
		"spec: {controllerName: example.com/theirs}\n")
	of("theirs", 81)
	e2e.Eventually(t, func() error {
		if s.try("GET http://green.example:81/ -> 200 green") == nil {
			return errors.New("a Gateway of another controller is still served")
		}
		return nil
	})
	of("cadrea", 81)
	s.remove("class.yaml")
	s.Stop(t)

	var out strings.Builder
	found, err := standalone.Check(t.Context(), standalone.Options{
		Dialects: e2e.DataPlanes(t), Dir: s.Dir, Bind: []string{"127.0.0.1"},
	}, &out)
	const want = "error: gateway.yaml:5: Gateway shop/web: spec.gatewayClassName: GatewayClass cadrea does not exist, " +
		"so no controller serves this Gateway; did you mean cardea?\n"
	if err != nil || found != 1 || !strings.Contains(out.String(), want) {
		t.Errorf("%v, %d errors:\n%swant\n%s", err, found, out.String(), want)
	}
	s.start()
	s.Ready(t)
	if err := s.finds(true, "so no controller serves this Gateway; did you mean cardea?"); err != nil {
		t.Error(err)
	}
}
