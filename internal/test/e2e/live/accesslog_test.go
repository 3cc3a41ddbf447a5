package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/app/standalone"
)

// TestAccessLog: requests are logged with the names of the objects that take them, and without their queries; rules can
// leave some out, or all, and add texts.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "access.log")
	s := open(t, accessLogged, func(o *standalone.Options) { o.AccessLog = log })
	for i := range 40 {
		for _, path := range []string{"some", "none", "off", "plain"} {
			s.expect(fmt.Sprintf("GET http://shop.example/%s/%d?token=secret -> 200 blue", path, i))
		}
	}
	s.expect("GET http://none.example/?token=secret -> 404")

	var lines map[string][]map[string]any
	e2e.Eventually(t, func() (err error) {
		lines, err = logged(log)
		if err == nil && (len(lines["plain"]) != 40 || len(lines[""]) != 1) {
			err = fmt.Errorf("%d lines of rule plain, %d of none", len(lines["plain"]), len(lines[""]))
		}
		return err
	})
	if n := len(lines["some"]); n == 0 || n == 40 || len(lines["none"])+len(lines["off"]) != 0 {
		t.Errorf("%d lines of a rule of which half are logged, %d and %d of those not logged", n, len(lines["none"]),
			len(lines["off"]))
	}
	for field, want := range map[string]any{
		"route": "HTTPRoute shop/web", "gateway": "shop/web", "port": "80", "backend": "service/shop/blue/80",
		"method": "GET", "host": "shop.example", "path": "/plain/0", "protocol": "HTTP/1.1", "status": 200.0,
		"attributes": map[string]any{"team": "all", "tier": "gold"},
	} {
		if got := lines["plain"][0][field]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", field, got, want)
		}
	}
	for _, field := range []string{"time", "durationMs", "requestId", "client", "endpoint", "details", "bytesSent"} {
		if lines["plain"][0][field] == nil {
			t.Errorf("there is no %s in %v", field, lines["plain"][0])
		}
	}
	if line := lines[""][0]; line["flags"] != "NR" || line["route"] != nil || line["backend"] != nil {
		t.Errorf("a request that no rule takes: %v", line)
	}
	if text, err := os.ReadFile(log); err != nil || strings.Contains(string(text), "secret") {
		t.Errorf("%v; there are queries in the log", err)
	}
}

// logged are the lines of an access log by the rules of the requests.
func logged(file string) (map[string][]map[string]any, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if len(text) == 0 || text[len(text)-1] != '\n' {
		return nil, errors.New("the last line is not whole")
	}
	lines := map[string][]map[string]any{}
	for line := range strings.Lines(string(text)) {
		fields := map[string]any{}
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			return nil, fmt.Errorf("%w: %s", err, line)
		}
		rule, _ := fields["rule"].(string)
		lines[rule] = append(lines[rule], fields)
	}
	return lines, nil
}

var accessLogged = archive("gateway.yaml", gatewayFile(80), "blue.yaml", serviceFile("blue", "blue"), "policies.yaml", `
apiVersion: cardea.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: all, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  accessLog: {attributes: {team: all, tier: silver}}
---
apiVersion: cardea.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: plain, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web, sectionName: plain}]
  accessLog: {attributes: {tier: gold}}
---
apiVersion: cardea.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: some, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web, sectionName: some}]
  accessLog: {sampling: {numerator: 1, denominator: 2}}
---
apiVersion: cardea.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: none, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web, sectionName: none}]
  accessLog: {sampling: {numerator: 0}}
---
apiVersion: cardea.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: "off", namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web, sectionName: "off"}]
  accessLog: {disable: true}
`, "route.yaml", routeFile("web", "shop.example", ruleAt("some"), ruleAt("none"), ruleAt("off"), ruleAt("plain")))

// ruleAt takes the requests of a path of its name.
func ruleAt(name string) string {
	return fmt.Sprintf("{name: %q, matches: [{path: {value: /%s}}], %s}", name, name, to("blue"))
}
