package explain

import (
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/resource"
)

// TestLiveNamesProxies: of several proxies those are named that have a rule, or those that it waits for; of one it is clear.
func TestLiveNamesProxies(t *testing.T) {
	proxies := []resource.Proxy{{Node: "web-a", Version: "1.36.4"}, {Node: "web-b", Version: "1.40.0", Acknowledged: true}}
	e := New(Config{Each: func(resource.Key) []resource.Proxy { return proxies }})
	for _, c := range []struct {
		live Live
		want string
	}{
		{Live{Proxies: 2, Version: "1.36.4"}, "not yet: it waits for web-a (Envoy 1.36.4)"},
		{Live{Proxies: 2, Version: "1.36.4", Acknowledged: true}, "acknowledged by all 2 proxies: web-b (Envoy 1.40.0)"},
		{Live{Proxies: 1, Version: "1.40.0", Acknowledged: true}, "acknowledged by the proxy (Envoy 1.40.0)"},
	} {
		e.each(&c.live, resource.Key{})
		if got := c.live.text(time.Time{}); !strings.HasSuffix(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	for range 9 {
		proxies = append(proxies, proxies[0])
	}
	live := Live{Proxies: 11}
	if e.each(&live, resource.Key{}); !strings.HasSuffix(live.names(false), "web-a (Envoy 1.36.4), 5 more") {
		t.Errorf("many: %s", live.names(false))
	}
}
