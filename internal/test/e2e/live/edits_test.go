package live

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnEditedRouteChangesTraffic(t *testing.T) {
	t.Parallel()
	s := open(t, shop())
	s.expect("GET http://shop.example/ -> 200 blue")
	const route = "httproute/shop/web"
	before := s.generation(route)

	s.write("route.yaml", routeFile("web", "shop.example", to("green")))
	s.soon("GET http://shop.example/ -> 200 green")
	s.live(route, before+1)

	// The host moves; the old one has nobody any more.
	s.write("route.yaml", routeFile("web", "store.example", to("green")))
	s.soon("GET http://store.example/ -> 200 green")
	s.expect("GET http://shop.example/ -> 404")

	// Weights: all, then shares, then none.
	weights := func(blue, green int) string {
		return fmt.Sprintf("backendRefs: [{name: blue, port: 80, weight: %d}, {name: green, port: 80, weight: %d}]", blue,
			green)
	}
	s.write("route.yaml", routeFile("web", "store.example", weights(1, 0)))
	s.soon("GET http://store.example/ *20 -> 200 blue")
	s.write("route.yaml", routeFile("web", "store.example", weights(1, 1)))
	s.soon("GET http://store.example/ *200 -> 200 blue~50% green~50%")
	s.write("route.yaml", routeFile("web", "store.example", weights(0, 0)))
	s.soon("GET http://store.example/ -> 500")

	// The order of rules decides among equal matches.
	s.write("route.yaml", routeFile("web", "store.example", to("blue"), to("green")))
	s.soon("GET http://store.example/ -> 200 blue")
	s.write("route.yaml", routeFile("web", "store.example", to("green"), to("blue")))
	s.soon("GET http://store.example/ -> 200 green")
	s.live(route, before+7)

	// What says the same keeps the generation.
	generation := s.generation(route)
	s.write("route.yaml", "# a comment\n"+routeFile("web", "store.example", to("green"), to("blue")))
	s.write("other.yaml", routeFile("other", "other.example", to("blue")))
	s.soon("GET http://other.example/ -> 200 blue")
	if now := s.generation(route); now != generation {
		t.Errorf("a comment changed the generation from %d to %d", generation, now)
	}
}

func TestADeletedFileTakesItsObjectsAway(t *testing.T) {
	t.Parallel()
	s := open(t, shop())
	s.says("gateway/shop/web", "http-80: attachedRoutes=1", "Programmed=True", "http-80: Programmed=True")
	s.remove("route.yaml")
	s.soon("GET http://shop.example/ -> 404")
	s.says("gateway/shop/web", "http-80: attachedRoutes=0", "Programmed=True")
	if err := s.saysNow("httproute/shop/web"); err == nil {
		t.Error("a route whose file was deleted is still shown")
	}
	s.write("route.yaml", routeFile("web", "shop.example", to("blue")))
	s.soon("GET http://shop.example/ -> 200 blue")

	// A Service that goes leaves its share of the weight with 500, and comes back.
	s.remove("blue.yaml")
	s.soon("GET http://shop.example/ -> 500")
	s.says("httproute/shop/web", "web: ResolvedRefs=False BackendNotFound", "web: Accepted=True")
	s.write("blue.yaml", serviceFile("blue", "blue"))
	s.soon("GET http://shop.example/ -> 200 blue")
	s.says("httproute/shop/web", "web: ResolvedRefs=True")
}

// TestWaysToSave follows a file however it is written.
func TestWaysToSave(t *testing.T) {
	t.Parallel()
	s := open(t, shop())
	path := filepath.Join(s.Dir, "route.yaml")
	next := "green"
	save := func(how string, write func(text []byte) error) {
		t.Helper()
		if err := write([]byte(routeFile("web", "shop.example", to(next)))); err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		s.soon("GET http://shop.example/ -> 200 " + next)
		next = map[string]string{"green": "blue", "blue": "green"}[next]
	}
	save("in place", func(text []byte) error { return os.WriteFile(path, text, 0o644) })
	save("a draft renamed", func(text []byte) error {
		if err := os.WriteFile(path+".tmp", text, 0o644); err != nil {
			return err
		}
		return os.Rename(path+".tmp", path)
	})
	save("the old one moved away first", func(text []byte) error {
		if err := os.Rename(path, path+"~"); err != nil {
			return err
		}
		return os.WriteFile(path, text, 0o644)
	})
	save("in pieces", func(text []byte) error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		for _, line := range strings.SplitAfter(string(text), "\n") {
			if _, err := f.WriteString(line); err != nil {
				return err
			}
			if err := f.Sync(); err != nil {
				return err
			}
		}
		return f.Close()
	})
	save("another name", func(text []byte) error {
		if err := os.Rename(path, filepath.Join(s.Dir, "renamed.yml")); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(s.Dir, "renamed.yml"), text, 0o644)
	})
	save("a folder moved in", func(text []byte) error {
		drafts := filepath.Join(t.TempDir(), "team")
		if err := os.Mkdir(drafts, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(drafts, "route.yaml"), text, 0o644); err != nil {
			return err
		}
		if err := os.Remove(filepath.Join(s.Dir, "renamed.yml")); err != nil {
			return err
		}
		return os.Rename(drafts, filepath.Join(s.Dir, "team"))
	})
	if problems := s.book.find("problem in the folder"); len(problems) > 0 {
		t.Errorf("a file was read before it was whole: %v", problems)
	}
}

// TestAMountedConfigMap is a folder in which the kubelet swaps one link.
func TestAMountedConfigMap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := prepare(t, dir, "")
	publish := func(version, service string) {
		t.Helper()
		for name, text := range map[string]string{
			"gateway.yaml": gatewayFile(80), "route.yaml": routeFile("web", "shop.example", to(service)),
			"service.yaml": serviceFile(service, service),
		} {
			s.write(filepath.Join(".."+version, name), text)
		}
		if err := os.Symlink(".."+version, filepath.Join(dir, "..data_tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	publish("one", "blue")
	for _, name := range []string{"gateway.yaml", "route.yaml", "service.yaml"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s.start()
	s.Ready(t)
	s.expect("GET http://shop.example/ -> 200 blue")
	publish("two", "green")
	s.soon("GET http://shop.example/ -> 200 green")
	if err := os.RemoveAll(filepath.Join(dir, "..one")); err != nil {
		t.Fatal(err)
	}
	publish("three", "red")
	s.soon("GET http://shop.example/ -> 200 red")
}

func TestAGrantThatIsRevoked(t *testing.T) {
	t.Parallel()
	const grant = `apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: from-shop, namespace: stock}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: shop}]
  to: [{group: "", kind: Service}]
`
	s := open(t, archive("gateway.yaml", gatewayFile(80), "grant.yaml", grant,
		"route.yaml", routeFile("web", "shop.example", "backendRefs: [{name: blue, namespace: stock, port: 80}]"),
		"blue.yaml", strings.ReplaceAll(serviceFile("blue", "blue"), "namespace: shop", "namespace: stock")))
	s.expect("GET http://shop.example/ -> 200 blue")
	for range 2 {
		s.remove("grant.yaml")
		s.soon("GET http://shop.example/ -> 500")
		s.says("httproute/shop/web", "web: ResolvedRefs=False RefNotPermitted", "web: Accepted=True",
			"web: cardea.dev/Programmed=True")
		s.write("grant.yaml", grant)
		s.soon("GET http://shop.example/ -> 200 blue")
		s.says("httproute/shop/web", "web: ResolvedRefs=True")
	}
}

func TestReadyAndProgrammedFollowTheProxy(t *testing.T) {
	t.Parallel()
	// A proxy that never connects: nothing is ready, and nothing is called Programmed.
	idle := filepath.Join(t.TempDir(), "envoy")
	if err := os.WriteFile(idle, []byte("#!/bin/sh\nexec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	deaf := prepare(t, t.TempDir(), shop())
	deaf.start(envoyAt(idle))
	deaf.says("gateway/shop/web", "Accepted=True", "Programmed=False Pending", "http-80: Programmed=False Pending")
	deaf.says("httproute/shop/web", "web: Accepted=True", "web: cardea.dev/Programmed=False Pending")
	deaf.reads("process started")
	if _, err := deaf.Get("/readyz"); err == nil || !strings.Contains(err.Error(), "503") ||
		!strings.Contains(err.Error(), "Gateway shop/web") {
		t.Errorf("/readyz without a proxy that connected: %v, want 503 that names the Gateway", err)
	}
	if _, err := deaf.Get("/healthz"); err != nil {
		t.Error(err)
	}

	s := prepare(t, t.TempDir(), shop())
	s.start()
	s.Ready(t)
	// Ready means live: the very next call is answered.
	s.expect("GET http://shop.example/ -> 200 blue")
	s.says("gateway/shop/web", "Programmed=True", "http-80: Programmed=True")
	s.says("httproute/shop/web", "web: cardea.dev/Programmed=True")
}
