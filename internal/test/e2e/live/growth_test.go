package live

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"
)

// TestEditsLeaveNothingBehind makes many edits of every sort in a folder that a real cardea serves, and takes them
// back. Then it has as many goroutines and open files as before, and every collection has as many keys as after a fresh
// start.
func TestEditsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), shop())
	s.startBinary()
	s.Ready(t)
	s.expect("GET http://shop.example/ -> 200 blue")
	before := s.level()
	for i := range flips {
		growths[i%len(growths)](s, i)
		// All that was written until now is live when this is.
		s.write("marker.yaml", routeFile("marker", fmt.Sprintf("host-%d.example", i), to("green")))
		s.soon(fmt.Sprintf("GET http://host-%d.example/ -> 200 green", i))
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.Contains(shop(), "-- "+e.Name()+" --\n") {
			s.remove(e.Name())
		}
	}
	s.write("gateway.yaml", gatewayFile(80))
	s.write("route.yaml", routeFile("web", "shop.example", to("blue")))
	s.soon("GET http://shop.example/ -> 200 blue\nGET http://host-199.example/ -> 404")

	fresh := prepare(t, s.Dir, "")
	fresh.startBinary()
	fresh.Ready(t)
	e2e.Eventually(t, func() error {
		is, want := s.keys(), fresh.keys()
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if strings.HasSuffix(name, "withdrawn") && is[name] <= 100 {
				continue // the last hundred ReferenceGrants are remembered, for messages
			}
			if is[name] != want[name] {
				return fmt.Errorf("%s has %.0f keys after %d edits, %.0f after a fresh start", name, is[name], flips, want[name])
			}
		}
		if len(is) != len(want) || len(want) < 20 {
			return fmt.Errorf("%d collections, %d after a fresh start", len(is), len(want))
		}
		return nil
	})
	if n := s.keys()["feedback/acked"]; n == 0 {
		t.Error("nothing is acknowledged: the comparison says nothing")
	}
	e2e.Eventually(t, func() error {
		now := s.level()
		for what, n := range before {
			if now[what] > n {
				return fmt.Errorf("%s: %.0f, and %.0f before %d edits", what, now[what], n, flips)
			}
		}
		return nil
	})
}

// growths are edits that bring something new, each time.
var growths = []func(s *stage, i int){
	func(s *stage, i int) { // a Service with another name
		s.write("route.yaml", routeFile("web", "shop.example", to(numbered(i)))+"---\n"+serviceFile(numbered(i), "blue"))
	},
	func(s *stage, i int) { // a listener on another port, with its route table
		s.write("gateway.yaml", gatewayFile(80, 81+i))
	},
	func(s *stage, i int) { // a route for every host
		s.write("every.yaml", strings.Replace(routeFile(fmt.Sprintf("every-%d", i), "", to("green")), "  hostnames: [\"\"]\n",
			"", 1))
	},
	func(s *stage, i int) { // a namespace, with a grant and a backend of its own
		space := fmt.Sprintf("space-%d", i)
		s.write("space.yaml",
			"apiVersion: gateway.networking.k8s.io/v1\nkind: ReferenceGrant\nmetadata: {name: grant, namespace: "+space+"}\n"+
				"spec:\n  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: shop}]\n  to: [{group: \"\", "+
				"kind: Service}]\n---\n"+
				strings.ReplaceAll(serviceFile("far", "green"), "namespace: shop", "namespace: "+space)+"---\n"+
				routeFile("far", "far.example", "backendRefs: [{name: far, namespace: "+space+", port: 80}]"))
	},
	func(s *stage, i int) { // what is broken, and what Envoy never sees
		s.write(fmt.Sprintf("broken-%d.yaml", i), fmt.Sprintf("kind: HTTPRoute %d", i))
		s.write("lost.yaml", routeFile(fmt.Sprintf("lost-%d", i), "lost.example", to(fmt.Sprintf("nobody-%d", i))))
	},
	func(s *stage, i int) { // a Gateway that is gone at the next edit, and its proxy with it
		s.write("second.yaml", strings.Replace(gatewayFile(90), "name: web", fmt.Sprintf("name: second-%d", i), 1))
	},
	func(s *stage, _ int) { s.remove("second.yaml") },
	func(s *stage, i int) { // a host, a redirect and another rule
		s.write("route.yaml", routeFile("web", fmt.Sprintf("shop-%d.example", i),
			"filters: [{type: RequestRedirect, requestRedirect: {port: "+
				fmt.Sprint(1+i)+"}}]", to("blue")))
	},
}

// keys are the numbers of keys by collection.
func (s *stage) keys() map[string]float64 {
	s.t.Helper()
	return s.gauges("cardea_flow_keys", "collection")
}

// level is what must not grow.
func (s *stage) level() map[string]float64 {
	s.t.Helper()
	return map[string]float64{
		"goroutines": s.counters("go_goroutines")[""],
		"open files": s.counters("process_open_fds")[""],
	}
}
