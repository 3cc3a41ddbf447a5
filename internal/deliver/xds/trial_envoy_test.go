package xds

import (
	"fmt"
	"strings"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// manyHosts are n hosts with a rule each that answers with the edit.
func manyHosts(n int, edit string) []host {
	hosts := make([]host, n)
	for i := range hosts {
		name := fmt.Sprintf("h%d", i)
		hosts[i] = host{name, []hostRule{{name: name, body: edit}}}
	}
	return hosts
}

// Many rules change at once, and two are bad. No request of anybody fails meanwhile, no connection is closed, and
// nothing is sent twice: the proxy refuses the table, two slots, and the two rules.
func TestATrialTakesNothingFromTraffic(t *testing.T) {
	const n = 200
	w := newWorld(t)
	port := freePorts(t, 1)[0]
	w.sync(func(e edits) {
		e.set(xdstypes.Listener, "l", listener("l", port, "t"))
		e.hosts("t", manyHosts(n, "old")...)
	})
	p := startEnvoy(t, w)
	answers(t, port, "h0", "/", "200 old")
	f := startTraffic(port, "h0", "h10", "h150", "h199")
	f.called(t, 100)
	hosts := manyHosts(n, "new")
	hosts[10].rules[0].bad, hosts[150].rules[0].bad = true, true
	// What is bad answers an error when it is found; so its host has another rule, which the traffic calls.
	hosts[10].rules = append([]hostRule{{name: "good10", body: "new"}}, hosts[10].rules...)
	hosts[150].rules = append([]hostRule{{name: "good150", body: "new"}}, hosts[150].rules...)
	w.turn(func(e edits) { e.hosts("t", hosts...) })
	for _, h := range []string{"h0", "h10", "h150", "h199"} {
		answers(t, port, h, "/", "200 new")
	}
	eventually(t, "the bad ones are refused", func() bool { return len(w.refusals()) == 2 })
	for _, name := range []string{"h10", "h150"} {
		if got := w.refusals()[name]; !strings.Contains(got.Message, "missing ]: ["+name) || got.Name != "t" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := w.metrics()["cardea_xds_nacks_total/Routes"]; got != 5 {
		t.Errorf("%v refusals, want 5: the table, two slots, two rules", got)
	}
	eventually(t, "the trial listener is removed", func() bool { return p.stat("listener_manager.listener_removed") == 1 })
	f.called(t, 100)
	f.stop(t)
	if got := p.stat("http.l.downstream_cx_drain_close"); got != 0 {
		t.Errorf("%d connections were drained", got)
	}
	// The next trial has a name of its own, since the proxy keeps the first one's listener while it drains.
	hosts = manyHosts(n, "third")
	hosts[77].rules[0].bad = true
	w.turn(func(e edits) { e.hosts("t", hosts...) })
	answers(t, port, "h0", "/", "200 third")
	answers(t, port, "h77", "/", "500 refused")
	if got := w.metrics()["cardea_xds_nacks_total/Routes"]; got != 8 {
		t.Errorf("%v refusals in all, want 8", got)
	}
}

// Nothing is refused: there is no trial.
func TestNoTrialWithoutRefusal(t *testing.T) {
	w, p, port := simple(t)
	w.turn(func(e edits) { e.set(xdstypes.Endpoints, "a", endpoints("a", backend(t, "b"))) })
	answers(t, port, "x.test", "/", "200 b")
	if got := p.stat("listener_manager.listener_added"); got != 1 {
		t.Errorf("%d listeners were added, want 1", got)
	}
}

// shared lets two proxies bind one port.
func shared(l *listenerv3.Listener, _ *hcmv3.HttpConnectionManager) {
	l.EnableReusePort = wrapperspb.Bool(true)
}

// Of two proxies one refuses what the other one takes. The rule is put aside at both, and everything else goes live at
// both.
func TestOneOfTwoProxiesRefuses(t *testing.T) {
	w := newWorld(t)
	port := freePorts(t, 1)[0]
	w.sync(func(e edits) {
		e.set(xdstypes.Listener, "l", listener("l", port, "t", shared))
		e.hosts("t", manyHosts(40, "old")...)
	})
	startEnvoy(t, w)
	eventually(t, "the first is whole", func() bool { return w.proxies().Acknowledged == 1 })
	startLimited(t, w, 1_000_000)
	eventually(t, "both are whole", func() bool { return w.proxies().Acknowledged == 2 })
	f := startTraffic(port, "h0", "h1", "h2", "h3", "h4", "h5")
	hosts := manyHosts(40, "new")
	hosts[20].rules[0].large = true
	w.turn(func(e edits) { e.hosts("t", hosts...) })
	eventually(t, "it is refused", func() bool {
		return strings.Contains(w.refusals()["h20"].Message,
			"RE2 program size")
	})
	for i := range 40 {
		name := fmt.Sprintf("h%d", i)
		hash := hashOf(mustMarshal(hostRule{name: name, body: "new"}.route()))
		if i != 20 {
			eventually(t, name+" is live at both", func() bool { return w.acked(xdstypes.Routes, "t", rule(name)) == hash })
		}
	}
	answersAtAll(t, port, "h20", "500 refused")
	f.stop(t)
	if len(w.refusals()) != 1 {
		t.Errorf("refused: %v", w.refusals())
	}
	w.turn(func(e edits) { e.hosts("t", manyHosts(40, "newer")...) })
	eventually(t, "nothing is refused", func() bool { return len(w.refusals()) == 0 })
}

// A proxy that refuses what the others take is gone for good: they get it.
func TestARefusalEndsWithItsProxy(t *testing.T) {
	w := newWorld(t)
	port := freePorts(t, 1)[0]
	hosts := manyHosts(3, "it")
	hosts[1].rules[0].large = true
	w.sync(func(e edits) {
		e.set(xdstypes.Listener, "l", listener("l", port, "t", shared))
		e.hosts("t", hosts...)
	})
	small := startEnvoy(t, w)
	eventually(t, "it is refused", func() bool { return len(w.refusals()) == 1 })
	eventually(t, "the first is whole", func() bool { return w.proxies().Acknowledged == 1 })
	startLimited(t, w, 1_000_000)
	eventually(t, "both are whole", func() bool { return w.proxies().Acknowledged == 2 })
	small.kill()
	eventually(t, "one is left", func() bool { return w.proxies().Connected == 1 })
	answers(t, port, "h1", "/", "500 refused")
	w.pass(absenceTimeout)
	answers(t, port, "h1", "/", "200 it")
	if len(w.refusals()) != 0 {
		t.Errorf("refused: %v", w.refusals())
	}
}

// A proxy with a lower limit joins one that serves a large expression.
func TestAProxyJoinsAndRefuses(t *testing.T) {
	w := newWorld(t)
	port := freePorts(t, 1)[0]
	hosts := manyHosts(40, "old")
	hosts[20].rules[0].large = true
	w.sync(func(e edits) {
		e.set(xdstypes.Listener, "l", listener("l", port, "t", shared))
		e.hosts("t", hosts...)
	})
	startLimited(t, w, 1_000_000)
	answers(t, port, "h20", "/", "200 old")
	eventually(t, "the first is whole", func() bool { return w.proxies().Acknowledged == 1 })
	startEnvoy(t, w)
	eventually(t, "it is refused", func() bool {
		return strings.Contains(w.refusals()["h20"].Message,
			"RE2 program size")
	})
	eventually(t, "both are whole", func() bool {
		return w.proxies() == resource.ProxySummary{Connected: 2, Acknowledged: 2,
			Version: "1.40.0"}
	})
	for range 20 {
		if got := call(port, "h0", "/"); got != "200 old" {
			t.Fatalf("an innocent host answers %q", got)
		}
	}
}
