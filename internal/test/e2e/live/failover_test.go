package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"
)

// TestPoolFailsOver: while a pool has no endpoint the requests go to the backend that its policy names, and to the pool
// again when one is there. That edits the one rule; another change of endpoints edits none.
func TestPoolFailsOver(t *testing.T) {
	s := openPools(t)
	slice := func(endpoints string) {
		s.write("own-endpoints.yaml", "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"+
			"metadata: {name: own, namespace: shop, labels: {cardea.dev/inferencepool: own}}\naddressType: IPv4\n"+
			"endpoints: ["+endpoints+"]\nports: []\n")
	}
	const one, two = "{addresses: [127.0.0.1]}", "{addresses: [127.0.0.1]}, {addresses: [127.0.0.2]}"
	pool, rule := s.pool("own", "picker", "FailClose", "FullDuplex")
	pool, _, _ = strings.Cut(pool, "---\n")
	slice(two)
	s.write("own.yaml", pool)
	s.write("cloud.yaml", hostFile("cloud", e2e.Backend(t, "stranger")))
	s.write("failover.yaml", `apiVersion: cardea.dev/v1alpha1
kind: BackendPolicy
metadata: {name: own, namespace: shop}
spec:
  targetRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: own}]
  failover: {backendRef: {group: gateway.networking.x-k8s.io, kind: XBackend, name: cloud}}
`)
	s.write("own-route.yaml", routeFile("own", "own.example", rule))
	asks := fmt.Sprintf("GET http://own.example/own -H x-pick:%s -> 200 ", s.member("green"))
	s.soon(asks + "green")
	s.says("httproute/shop/own", "web: cardea.dev/Programmed=True")
	s.says("xbackend/shop/cloud", "web: Accepted=True")
	const url = "http://own.example/own"
	s.told(url, "answer     InferencePool shop/own",
		"while none is ready, XBackend shop/cloud gets the requests (BackendPolicy shop/own)")

	// rules are what runs for rules: routes that are read, and rules that are rendered.
	rules := func() (runs float64) {
		for collection, n := range s.gauges("cardea_flow_runs_total", "collection") {
			if slices.Contains([]string{"route/draft", "envoy/fragments", "envoy/virtual-hosts", "envoy/tables"}, collection) {
				runs += n
			}
		}
		return runs
	}
	runs, sent := rules(), s.counters("cardea_xds_responses_total")
	slice(one)
	e2e.Eventually(t, func() error {
		if got := s.sent(sent); !strings.Contains(got, "Endpoints") {
			return fmt.Errorf("sent %q, want endpoints", got)
		}
		return nil
	})
	if got, now := s.sent(sent), rules(); got != "Endpoints" || now != runs {
		t.Errorf("an endpoint of two: sent %q, and %v runs for rules", got, now-runs)
	}
	s.expect(asks + "green")

	slice("{addresses: [127.0.0.1], conditions: {ready: false}}")
	s.soon(asks + "stranger")
	if now := rules(); now == runs {
		t.Error("no rule was rendered, or runs for rules are not counted")
	}
	s.told(url, "answer     XBackend shop/cloud",
		"instead of InferencePool shop/own, which has no ready pod (BackendPolicy shop/own, spec.failover)")
	s.says("inferencepool/shop/own", "web: cardea.dev/FailedOver=True")
	slice(one)
	s.soon(asks + "green")
}
