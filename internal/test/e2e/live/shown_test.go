package live

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/ops/explain"
)

// noted waits until an object, as `cardea get -o yaml` shows it, has an annotation that begins so; "" if it has none.
func (s *stage) noted(path, annotation, want string) {
	s.t.Helper()
	e2e.Eventually(s.t, func() error {
		var o kind.JSONObject
		if err := s.Program.Read("/objects/"+path, &o); err != nil {
			return err
		}
		got := o.TextAt("metadata", "annotations", annotation)
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			return fmt.Errorf("%s: %q, want %q", path, got, want)
		}
		return nil
	})
}

// TestExplainOfADeadBackend: nobody listens where the backend is said to be.
func TestExplainOfADeadBackend(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), shop())
	dead := strings.ReplaceAll(serviceFile("dead", "blue"), "${blue}", "1")
	s.write("dead.yaml", dead)
	s.write("route.yaml", routeFile("web", "shop.example", to("dead")))
	s.write("green-route.yaml", routeFile("green", "green.example", to("green")))
	s.start()
	s.Ready(t)
	s.soon("GET http://green.example/ -> 200 green")
	s.soon("GET http://shop.example/ -> 503")
	s.told("http://shop.example/", "answer Service shop/dead port 80", "connections to it fail: all ")
	var well explain.Story
	if err := s.Program.Read("/explain?url="+url.QueryEscape("http://green.example/"), &well); err != nil {
		t.Fatal(err)
	}
	if len(well.Outcomes) != 1 || well.Outcomes[0].Connections != nil {
		t.Errorf("of a backend that answers: %+v", well.Outcomes)
	}

	// It comes back: what failed is told as past.
	s.write("dead.yaml", serviceFile("dead", "blue"))
	s.soon("GET http://shop.example/ -> 200 blue")
	s.told("http://shop.example/", "answer Service shop/dead port 80", " connections to it have failed so far")
}

// TestOlderVersionsAreShown: who asks for an object is told that its newest version is not what serves: of a broken
// document, of a broken file, of what a proxy refused and keeps; and no more when it is mended.
func TestOlderVersionsAreShown(t *testing.T) {
	t.Parallel()
	s, b := withARefusedCertificate(t)
	const route, service, listener = "httproutes/shop/web", "services/shop/blue", "gateways/shop/web"
	s.noted(route, kind.StaleAnnotation, "")
	s.noted(listener, kind.StaleAnnotation, "") // nothing was accepted before

	s.write("route.yaml", strings.Replace(routeFile("web", "*.example", to("blue")), "port:", "prot:", 1))
	s.noted(route, kind.StaleAnnotation, "the newest version or its file has a mistake: route.yaml:1")
	s.noted(service, kind.StaleAnnotation, "")
	s.write("route.yaml", "{")
	s.noted(route, kind.StaleAnnotation, "the newest version or its file has a mistake: route.yaml")
	s.write("route.yaml", "\xff")
	s.noted(route, kind.StaleAnnotation, "the newest version or its file has a mistake: route.yaml:1")
	s.write("route.yaml", routeFile("web", "*.example", to("blue")))
	s.noted(route, kind.StaleAnnotation, "")

	s.write("gateway.yaml", secureGateway("a a.example a", "b b2.example c", "c c.example c"))
	s.noted(listener, kind.StaleAnnotation, "the proxy refused the newest version: ")
	s.write("c.yaml", secretNamed("c", b.Certificate, b.PrivateKey))
	s.noted(listener, kind.StaleAnnotation, "")

	right := secureGateway("a a.example a", "b b2.example c", "c c.example c")
	s.write("gateway.yaml", strings.Replace(right, "cardea", "cadrea", 1))
	s.noted(listener, kind.StaleAnnotation, "the newest version waits for GatewayClass cadrea: gateway.yaml:1")
	s.write("gateway.yaml", right)
	s.noted(listener, kind.StaleAnnotation, "")
}

// TestEditsAreShown: the age of an object in a file that states none is that of its file's last edit.
func TestEditsAreShown(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), shop())
	long := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(s.Dir+"/route.yaml", long, long); err != nil {
		t.Fatal(err)
	}
	s.start()
	s.Ready(t)
	s.noted("httproutes/shop/web", kind.EditedAnnotation, long.Format(time.RFC3339))
	s.noted("gatewayclasses/cardea", kind.EditedAnnotation, "") // no file has it
}
