package live

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/test/promtext"
)

// TestWhatShadowsRefuseIsSeen: what is only tried passes, and is counted by policy and rule, logged, and explained.
// What is in force refuses, and counts nothing there.
func TestWhatShadowsRefuseIsSeen(t *testing.T) {
	t.Parallel()
	refuser := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(refuser.Close)
	log := filepath.Join(t.TempDir(), "access.log")
	s := prepare(t, t.TempDir(), shop())
	s.write("policies.yaml", fmt.Sprintf(`apiVersion: cardea.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: tried, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web}]
  authorization:
    deny:
    - {name: writers, mode: Shadow, matches: [{methods: [POST]}]}
    - {name: robots, mode: Shadow, matches: [{cel: "request.headers['user-agent'] == 'robot'"}]}
    - {name: closed, matches: [{methods: [DELETE]}]}
    require:
    - {name: team, mode: Shadow, matches: [{headers: [{name: x-team, type: Present}]}]}
    allow:
    - {name: readers, mode: Shadow, matches: [{methods: [GET, DELETE]}]}
  extAuth:
    mode: Shadow
    http: {}
    backendRef: {group: gateway.networking.x-k8s.io, kind: XBackend, name: judge}
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: judge, namespace: shop}
spec:
  type: ExternalHostname
  externalHostname: {hostname: localhost}
  port: {number: %d}
`, refuser.Listener.Addr().(*net.TCPAddr).Port))
	s.start(func(o *standalone.Options) { o.AccessLog = log })
	s.Ready(t)
	s.expect("GET http://shop.example/ -H x-team:a -> 200 blue\n" +
		"POST http://shop.example/ -H user-agent:robot -> 200 blue\nDELETE http://shop.example/ -H x-team:a -> 403")
	text, err := s.Get("/proxies/shop/web/metrics")
	if err != nil {
		t.Fatal(err)
	}
	counted := promtext.Read(text)
	for rule, want := range map[string]float64{
		"authorization.deny.writers": 1, "authorization.deny.robots": 1, "authorization.deny.closed": 0,
		"authorization.require.team": 1, "authorization.allow": 1, "extAuth": 2,
	} {
		series := fmt.Sprintf(`envoy_shadow_denied{gateway="shop/web",policy="shop/tried",rule="%s"}`, rule)
		if got := counted[series]; got != want {
			t.Errorf("%s is %v, want %v", series, got, want)
		}
	}
	e2e.Eventually(t, func() error {
		lines, err := logged(log)
		if err != nil {
			return err
		}
		for _, line := range slices.Concat(slices.Collect(maps.Values(lines))...) {
			said, _ := line["access"].(map[string]any)
			if line["method"] == "POST" && line["shadow"] == "DENIED" &&
				said["shadow/shop/tried/authorization.deny.writers/shadow_engine_result"] == "denied" {
				return nil
			}
		}
		return fmt.Errorf("%v", lines)
	})
	explained, err := s.Get("/explain?method=POST&url=http://shop.example/")
	if err != nil {
		t.Fatal(err)
	}
	if want := "authorization.deny[writers] in mode Shadow"; !strings.Contains(string(explained), want) {
		t.Errorf("want %s in %s", want, explained)
	}
}
