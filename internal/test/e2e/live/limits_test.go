package live

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/app/standalone"
)

// limitsFile is a TrafficPolicy in namespace shop for a route, with limits as they are written in YAML's flow style.
func limitsFile(name, route string, limits ...string) string {
	return fmt.Sprintf("apiVersion: cardea.dev/v1alpha1\nkind: TrafficPolicy\n"+
		"metadata: {name: %s, namespace: shop}\nspec:\n"+
		"  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: %s}]\n  rateLimits:\n  - %s\n",
		name, route, strings.Join(limits, "\n  - "))
}

const threePerHour = "{name: three, requests: 3, interval: 1h}"

// TestLimitSurvivesEdits: what was counted is kept while a neighbour route, another feature's policy, endpoints and the
// limited route itself are edited. Another limit of the Gateway makes all of them start anew.
func TestLimitSurvivesEdits(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), shop())
	s.write("limits.yaml", limitsFile("web", "web", threePerHour))
	s.start()
	s.Ready(t)
	s.expect("GET http://shop.example/ -> 200 blue\nGET http://shop.example/ -> 200 blue\n" +
		"GET http://shop.example/ -> 200 blue\nGET http://shop.example/ -> 429")
	edit := func(name, text, live string) {
		t.Helper()
		s.write(name, text)
		s.soon(live)
		if s.expect("GET http://shop.example/ -> 429"); t.Failed() {
			t.Fatalf("after the edit of %s", name)
		}
	}
	edit("other.yaml", routeFile("other", "other.example", to("blue")), "GET http://other.example/ -> 200 blue")
	edit("headers.yaml", "apiVersion: cardea.dev/v1alpha1\nkind: TrafficPolicy\n"+
		"metadata: {name: headers, namespace: shop}\n"+
		"spec:\n  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]\n"+
		"  headers: {response: {set: [{name: x-edited, value: edited}]}}\n",
		"GET http://other.example/ -> 200 blue x-edited=edited")
	edit("blue.yaml", serviceFile("blue", "green"), "GET http://other.example/ -> 200 green")
	generation := s.generation("httproute/shop/web")
	s.write("route.yaml", routeFile("web", "shop.example", to("blue"), "{matches: [{path: {value: /new}}], filters: ["+
		"{type: RequestRedirect, requestRedirect: {hostname: new.example}}]}"))
	s.live("httproute/shop/web", generation+1)
	s.expect("GET http://shop.example/new -> 429") // the rule is new, the count is the policy's
	s.write("more.yaml", limitsFile("more", "other", "{name: more, requests: 1, interval: 1h}"))
	s.soon("GET http://other.example/ -> 429")
	s.expect("GET http://shop.example/ -> 200 green")
}

// TestLimitOfManyClients: far more clients than Envoy counts by default have counters of their own, over
// all routes of the policy; and who is refused is told when to come again.
func TestLimitOfManyClients(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), shop())
	s.write("limits.yaml", limitsFile("web", "web", "{name: each, per: [{header: x-client}], requests: 1, interval: 1h}"))
	s.start()
	s.Ready(t)
	const clients = 50 // Envoy's default is 20
	for _, want := range []string{"200 blue retry-after=", "429"} {
		var all strings.Builder
		for i := range clients {
			fmt.Fprintf(&all, "GET http://shop.example/ -H x-client:%d -> %s\n", i, want)
		}
		s.expect(all.String())
	}
	if err := s.try("GET http://shop.example/ -H x-client:1 -> 429 retry-after="); err == nil {
		t.Error("an answer 429 has no Retry-After")
	}
}

// TestShadowLimit: what a limit in shadow mode would refuse is counted and passes.
func TestShadowLimit(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), shop())
	s.write("limits.yaml", limitsFile("web", "web", "{name: one, mode: Shadow, requests: 1, interval: 1h}"))
	work := filepath.Join(t.TempDir(), "w")
	s.start(func(o *standalone.Options) { o.WorkDir = work })
	s.Ready(t)
	s.expect("GET http://shop.example/ -> 200 blue\nGET http://shop.example/ -> 200 blue\n" +
		"GET http://shop.example/ -> 200 blue")
	counted := envoyCounters(t, work, "http_local_rate_limit")
	for name, want := range map[string]string{"shadow_mode": "2", "rate_limited": "2", "enforced": "0"} {
		if n := counted["limits-early.http_local_rate_limit."+name]; n != want {
			t.Errorf("%s is %q, want %s", name, n, want)
		}
	}
}
