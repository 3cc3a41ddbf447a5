package xds

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// TestEachProxy: of two proxies one has acknowledged a newer table, and the other one something that it was not sent
// yet.
func TestEachProxy(t *testing.T) {
	c := newCore()
	for _, command := range []string{
		"turn\n  Listener l=1 needs=Routes/t binds=:80\n  Routes t=1", "connect p", "connect q",
		"p asks Cluster", "p asks Listener", "p asks Routes t", "p acks 1 2 3",
		"q asks Cluster", "q asks Listener", "q asks Routes t", "q acks 1 2 3",
		"turn\n  Routes t=2", "p acks 4",
	} {
		c.run(t, strings.Split(command, "\n"))
	}
	p, q := resource.ConnectedProxy{Node: "p", Version: "1.40.0"}, resource.ConnectedProxy{Node: "q", Version: "1.40.0"}
	if got, want := c.set.countBehind(), map[resource.ConnectedProxy]int{p: 0, q: 1}; !maps.Equal(got, want) {
		t.Errorf("behind: %v, want %v", got, want)
	}
	p.Acknowledged = true
	if got, want := c.set.proxyProgress(storyTable), []resource.ConnectedProxy{p, q}; !slices.Equal(got, want) {
		t.Errorf("of the table: %v, want %v", got, want)
	}
	q.Acknowledged = true
	listener := resource.Name{Type: xdstypes.Listener, Name: "l"}
	if got, want := c.set.proxyProgress(listener), []resource.ConnectedProxy{p, q}; !slices.Equal(got, want) {
		t.Errorf("of the listener: %v, want %v", got, want)
	}
}

// TestEachProxyOfWhatWasRefused: a table that one proxy acknowledged and another one refused is acknowledged by the one
// that has it, while it is found out what is bad in it and when all of it was put aside; the other one is behind.
func TestEachProxyOfWhatWasRefused(t *testing.T) {
	joined := []string{
		"turn\n  Listener l=1 needs=Routes/t binds=:80\n  Routes t=1 parts=h1:1,h2:2", "connect p", "connect q",
		"p asks Cluster", "p asks Listener", "p asks Routes t", "p acks 1 2 3",
		"q asks Cluster", "q asks Listener", "q asks Routes t", "q acks 1 2 3",
	}
	for name, c := range map[string]struct {
		commands []string
		state    resourceState
		has      string // the proxy that has the table
		behind   map[string]int
	}{
		"on trial": {
			append(slices.Clone(joined), "turn\n  Routes t=2 parts=h1:1,h2:2,h3:3,h4:4", "q acks 4", "p nacks 4 no"),
			onTrial, "q", map[string]int{"p": 1, "q": 0},
		},
		"rejected": {
			append(slices.Clone(joined), "turn\n  Routes t=2 parts=h1:1", "q acks 4", "p nacks 4 no"),
			rejected, "q", map[string]int{"p": 1, "q": 0},
		},
		"rejected, an edit": {
			append(slices.Clone(joined), "turn\n  Routes t=2 parts=h1:1", "q acks 4", "p nacks 4 no",
				"turn\n  Routes t=3 parts=h1:2", "p acks 5"),
			serving, "p", map[string]int{"p": 0, "q": 1},
		},
		"the first one": {
			[]string{
				joined[0], "connect p", "connect q", "p asks Cluster", "p asks Listener", "p acks 1 2", "q asks Cluster",
				"q asks Listener", "q acks 1 2",
				"p asks Routes t", "p nacks 3 no", "q asks Routes t",
			},
			onTrial, "", map[string]int{"p": 1, "q": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			core := newCore()
			for _, command := range c.commands {
				core.run(t, strings.Split(command, "\n"))
			}
			if e := core.set.lookup(storyTable); e.state != c.state {
				t.Fatalf("state %d, want %d", e.state, c.state)
			}
			for _, p := range core.set.proxyProgress(storyTable) {
				if p.Acknowledged != (p.Node == c.has) {
					t.Errorf("%s acknowledged the table: %v", p.Node, p.Acknowledged)
				}
			}
			if got := behindOf(core.set); !maps.Equal(got, c.behind) {
				t.Errorf("behind: %v, want %v", got, c.behind)
			}
		})
	}
}

// TestAProxyThatJoinsIsBehind: it has acknowledged nothing of what another one has.
func TestAProxyThatJoinsIsBehind(t *testing.T) {
	c := newCore()
	for _, step := range []struct {
		command string
		want    map[string]int
	}{
		{"turn\n  Listener l=1 needs=Routes/t binds=:80\n  Routes t=1", map[string]int{}},
		{"connect p", map[string]int{"p": 0}},
		{"p asks Cluster", map[string]int{"p": 0}},
		{"p asks Listener", map[string]int{"p": 1}},
		{"p asks Routes t", map[string]int{"p": 2}},
		{"p acks 1 2 3", map[string]int{"p": 0}},
		{"connect q", map[string]int{"p": 0, "q": 0}},
		{"q asks Cluster", map[string]int{"p": 0, "q": 0}},
		{"q asks Listener", map[string]int{"p": 0, "q": 1}},
		{"q asks Routes t", map[string]int{"p": 0, "q": 2}},
		{"q acks 1 2", map[string]int{"p": 0, "q": 1}},
		{"q acks 3", map[string]int{"p": 0, "q": 0}},
	} {
		c.run(t, strings.Split(step.command, "\n"))
		if got := behindOf(c.set); !maps.Equal(got, step.want) {
			t.Errorf("after %q: behind %v, want %v", step.command, got, step.want)
		}
	}
}

// storyTable is the one of the stories.
var storyTable = resource.Name{Type: xdstypes.Routes, Name: "t"}

// behindOf is how far each proxy is behind, by its node.
func behindOf(s *gatewaySet) map[string]int {
	n := map[string]int{}
	for p, of := range s.countBehind() {
		n[p.Node] += of
	}
	return n
}

// TestAskedInAView: what explain and diff ask is answered in a View, while a turn waits for its end, and a proxy
// acknowledges something.
func TestAskedInAView(t *testing.T) {
	w := newWorld(t)
	w.sync(func(e edits) { fill(e, 3) })
	c, _, _, _, _ := load(t, w, 3)
	for i := range 20 {
		w.graph.View(func(v flow.View) {
			w.turn(func(e edits) { e.set(xdstypes.Endpoints, "c001", endpoints("c001", 2000+i)) })
			key := resource.Key{Gateway: gateway, Type: xdstypes.Endpoints, Name: "c001"}
			if _, apart := w.server.FindOffer(key); apart {
				t.Error("something else is offered than the graph says")
			}
			_, _ = w.server.FirstSent(key, v.Rev())
			if len(w.server.ProxyProgress(key)) != 1 || len(w.server.CountBehind()[gateway]) != 1 {
				t.Error("not one proxy")
			}
		})
		c.ack(c.wants("Endpoints +c001"))
	}
}

// TestUnanswered: a proxy that refused a resource has answered, if it is known whose content it refused.
func TestUnanswered(t *testing.T) {
	c := newCore()
	for _, step := range []struct {
		command string
		want    int
	}{
		{"turn\n  Listener l=1 needs=Routes/t binds=:80\n  Routes t=1 parts=h1:1\n  Cluster c=1 parts=c:1", 0},
		{"connect p", 0},
		{"p asks Cluster", 1},
		{"p asks Listener", 2},
		{"p asks Routes t", 3},
		{"p acks 1 2 3", 0},
		{"turn\n  Cluster c=2 parts=c:2", 1},
		{"p nacks 4 no", 0}, // the cluster is rejected as a whole
		{"turn\n  Routes t=2 parts=h1:1,h2:2,h3:3", 1},
		{"p nacks 5 no", 1}, // the table is on trial
		{"turn\n  Routes t=3 parts=h1:1", 1},
		{"turn\n  Cluster c=3 parts=c:3", 2},
	} {
		c.run(t, strings.Split(step.command, "\n"))
		if got := c.set.countUnanswered(); got != step.want {
			t.Fatalf("after %q: %d, want %d", step.command, got, step.want)
		}
	}
}
