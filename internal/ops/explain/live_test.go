package explain

import (
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/resource"
)

// TestLiveNamesProxies: of several proxies those are named that have a rule, or those that it waits for; of one it is
// clear.
func TestLiveNamesProxies(t *testing.T) {
	proxies := []resource.ConnectedProxy{{Node: "web-a", Version: "1.36.4"}, {Node: "web-b", Version: "1.40.0",
		Acknowledged: true}}
	e := New(Config{Each: func(resource.Key) []resource.ConnectedProxy { return proxies }})
	for _, c := range []struct {
		live LiveState
		want string
	}{
		{LiveState{Proxies: 2, Proxy: "Envoy", Version: "1.36.4"}, "not yet: it waits for web-a (Envoy 1.36.4)"},
		{LiveState{Proxies: 2, Proxy: "Envoy", Version: "1.36.4", Acknowledged: true},
			"acknowledged by web-b (Envoy 1.40.0); not yet all of the route table by web-a (Envoy 1.36.4)"},
		{LiveState{Proxies: 2, Proxy: "Envoy", Version: "1.36.4", Kept: true},
			"as it is now at web-b (Envoy 1.40.0) only; the other proxies keep what they accepted before"},
		{LiveState{Proxies: 1, Proxy: "Envoy", Version: "1.40.0", Acknowledged: true},
			"acknowledged by the proxy (Envoy 1.40.0)"},
	} {
		e.addProxies(&c.live, resource.Key{})
		if got := c.live.describeLive(time.Time{}); !strings.HasSuffix(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	for acknowledged, want := range map[bool]string{
		true:  "acknowledged by all 2 proxies: web-a (Envoy 1.36.4), web-b (Envoy 1.40.0)",
		false: "acknowledged; not yet all of the route table by web-a (Envoy 1.36.4), web-b (Envoy 1.40.0)",
	} {
		proxies[0].Acknowledged, proxies[1].Acknowledged = acknowledged, acknowledged
		live := LiveState{Proxies: 2, Proxy: "Envoy", Version: "1.36.4", Acknowledged: true}
		if e.addProxies(&live, resource.Key{}); !strings.HasSuffix(live.describeLive(time.Time{}), want) {
			t.Errorf("%q, want %q", live.describeLive(time.Time{}), want)
		}
	}
	proxies[0].Acknowledged, proxies[1].Acknowledged = false, true
	for range 9 {
		proxies = append(proxies, proxies[0])
	}
	live := LiveState{Proxies: 11, Proxy: "Envoy"}
	if e.addProxies(&live, resource.Key{}); !strings.HasSuffix(live.proxyNames(false), "web-a (Envoy 1.36.4), 5 more") {
		t.Errorf("many: %s", live.proxyNames(false))
	}
}
