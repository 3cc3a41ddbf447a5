package xds

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	filterchainv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/filter_chain/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// old is a version that does not know the filter by which routes bring theirs
// (docs/adr/0009-a-route-brings-its-filters.md).
const old = "1.36.4"

// startOld runs an Envoy of that version, or skips the test where it can't be had.
func startOld(t *testing.T, w *world) *proxy {
	t.Helper()
	cmd := exec.Command("../../../hack/get-envoy.sh", old)
	cmd.Env = append(os.Environ(), "PIP_RETRIES=0", "PIP_DEFAULT_TIMEOUT=20")
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Skipf("Envoy %s can't be had here: %s", old, exit.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	return startBinary(t, w, strings.TrimSpace(string(out)), 0)
}

// withFilters has the filter that the old version does not know.
func withFilters(_ *listenerv3.Listener, h *hcmv3.HttpConnectionManager) {
	h.HttpFilters = append([]*hcmv3.HttpFilter{{
		Name: "filters", Disabled: true,
		ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: mustAny(&filterchainv3.FilterChainConfig{})},
	}}, h.HttpFilters...)
}

// Two versions of the proxy serve one Gateway. What the older one does not know is put aside at both, and nothing else
// is: of routes and of filter chains, whichever of the two is there first.
func TestTwoVersions(t *testing.T) {
	w := newWorld(t)
	ports := freePorts(t, 2)
	set := func(e edits, edit string, news bool) {
		hosts := manyHosts(40, edit)
		hosts[20].rules[0].filters = news
		e.hosts("t", hosts...)
		e.tables("a-"+edit, "b-"+edit)
		e.chains("s", chained{ports[1], []chain{
			{Name: "a", Host: "a.test", Table: "a-" + edit}, {Name: "b", Host: "b.test", Table: "b-" + edit, Filters: news},
		}})
	}
	w.sync(func(e edits) {
		secured(e)
		e.set(xdstypes.Listener, "l", listener("l", ports[0], "t", shared))
		set(e, "one", false)
	})
	startOld(t, w)
	eventually(t, "the old one is whole", func() bool { return w.proxies().Acknowledged == 1 })
	first := startEnvoy(t, w)
	both := resource.ProxySummary{Connected: 2, Acknowledged: 2, Version: old}
	eventually(t, "both are whole", func() bool { return w.proxies() == both })
	f := startTraffic(ports[0], "h0", "h1", "h2", "h3")

	put := func(edit string) {
		t.Helper()
		w.turn(func(e edits) { set(e, edit, true) })
		for i := range 40 {
			name := fmt.Sprintf("h%d", i)
			if hash := hashOf(mustMarshal(hostRule{name: name, body: edit}.route())); i != 20 {
				eventually(t, name+" is live at both", func() bool { return w.acked(xdstypes.Routes, "t", rule(name)) == hash })
			}
		}
		a := chain{Name: "a", Host: "a.test", Table: "a-" + edit}
		hash := hashOf(a.render(true))
		eventually(t, "the good chain is live at both", func() bool {
			return w.acked(xdstypes.Listener, "s",
				a.origin()) == hash
		})
		got := w.refusedChains()
		if len(got) != 2 || !strings.Contains(got["gwb"], "FilterChainConfig") || !strings.Contains(got["h20rule"],
			"FilterChain") {
			t.Errorf("refused: %v", got)
		}
		alwaysSecurely(t, ports[1], "a.test: 200 a-"+edit)
		eventually(t, "what one does not know is put aside at both", func() bool {
			_, ok := securelyAtAll(ports[1], "b.test: 200 b-one")
			return ok
		})
		answersAtAll(t, ports[0], "h20", "500 refused")
	}
	put("two")
	f.stop(t)
	// The new one goes and comes back: nothing of that is taken from the other one, nor tried again.
	refusals := w.metrics()["cardea_xds_nacks_total/Routes"] + w.metrics()["cardea_xds_nacks_total/Listener"]
	first.kill()
	eventually(t, "the old one is left", func() bool { return w.proxies().Connected == 1 })
	startEnvoy(t, w)
	eventually(t, "both are whole", func() bool { return w.proxies() == both })
	alwaysSecurely(t, ports[1], "a.test: 200 a-two", "b.test: 200 b-one")
	if now := w.metrics()["cardea_xds_nacks_total/Routes"] +
		w.metrics()["cardea_xds_nacks_total/Listener"]; now != refusals {
		t.Errorf("%v refusals, want the %v of before", now, refusals)
	}
	w.turn(func(e edits) { set(e, "three", false) })
	securely(t, ports[1], "b.test: 200 b-three")
	eventually(t, "nothing is refused", func() bool { return len(w.refusedRows()) == 0 })
}

// A proxy of the old version joins one that serves what it does not know: that is put aside at both, and everything
// else goes on.
func TestAnOldVersionJoins(t *testing.T) {
	w := newWorld(t)
	port := freePorts(t, 1)[0]
	w.sync(func(e edits) {
		secured(e)
		e.tables("a", "b")
		e.chains("s", chained{port, []chain{{Name: "a", Host: "a.test", Table: "a"}, {Name: "b", Host: "b.test", Table: "b",
			Filters: true}}})
	})
	startEnvoy(t, w)
	securely(t, port, "a.test: 200 a", "b.test: 200 b")
	eventually(t, "the new one is whole", func() bool { return w.proxies().Acknowledged == 1 })
	startOld(t, w)
	eventually(t, "both are whole", func() bool {
		return w.proxies() == resource.ProxySummary{Connected: 2, Acknowledged: 2,
			Version: old}
	})
	alwaysSecurely(t, port, "a.test: 200 a", "b.test: no answer")
	if got := w.refusedChains(); len(got) != 1 || got["gwb"] == "" {
		t.Errorf("refused: %v", got)
	}
}

// The same, of a chain that is kept since its newer version was refused: what is kept of it, the old one does not know
// either.
func TestAnOldVersionJoinsAKeptChain(t *testing.T) {
	w := newWorld(t)
	port := freePorts(t, 1)[0]
	kept := chain{Name: "b", Host: "b.test", Table: "b", Filters: true}
	w.sync(func(e edits) {
		secured(e)
		e.tables("a", "b")
		e.chains("s", chained{port, []chain{{Name: "a", Host: "a.test", Table: "a"}, kept}})
	})
	startEnvoy(t, w)
	securely(t, port, "a.test: 200 a", "b.test: 200 b")
	eventually(t, "the new one is whole", func() bool { return w.proxies().Acknowledged == 1 })
	kept.Bad = true
	w.turn(func(e edits) { e.chains("s", chained{port, []chain{{Name: "a", Host: "a.test", Table: "a"}, kept}}) })
	eventually(t, "it is refused", func() bool { return len(w.refusedChains()) == 1 })
	alwaysSecurely(t, port, "a.test: 200 a", "b.test: 200 b")

	startOld(t, w)
	eventually(t, "both are whole", func() bool {
		return w.proxies() == resource.ProxySummary{Connected: 2, Acknowledged: 2,
			Version: old}
	})
	eventually(t, "both have the substitute", func() bool { return len(w.refusedRows()) == 1 })
	alwaysSecurely(t, port, "a.test: 200 a", "b.test: no answer")
}
