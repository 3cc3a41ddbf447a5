package gateway

import (
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

// TestUnbindable: a port is a number that the offset leaves one, and is not the proxies' own.
func TestUnbindable(t *testing.T) {
	in := model.Environment{ProbePort: 19003, MetricsPort: 19001, PortOffset: 10000}
	for port, bound := range map[int32]bool{80: true, 9003: false, 9001: false, 19003: true, 55535: true, 55536: false} {
		if why := bindProblem(port, in); (why == "") != bound {
			t.Errorf("port %d: %q", port, why)
		}
	}
	if why := bindProblem(80, model.Environment{}); why != "" {
		t.Error(why)
	}
}

// TestServed: what was said wrongly about proxies takes none away where they are deployed.
func TestServed(t *testing.T) {
	wrong := func(reason, field string) []model.Finding {
		return []model.Finding{{Condition: "Accepted", Reason: reason, Field: field}}
	}
	for name, c := range map[string]struct {
		facts            gatewayFacts
		accepted, served bool
	}{
		"well": {gatewayFacts{}, true, true},
		"no DataPlane": {
			gatewayFacts{Fronted: true, Findings: wrong("InvalidParameters", "spec.infrastructure.parametersRef")}, false, true,
		},
		"no DataPlane of the class": {gatewayFacts{Fronted: true, Findings: wrong("Pending", classField)}, false, true},
		"an address": {gatewayFacts{Fronted: true,
			Findings: wrong("UnsupportedAddress", "spec.addresses[0].value")}, false, true},
		"an address to bind": {gatewayFacts{Findings: wrong("UnsupportedAddress", "spec.addresses[0].value")}, false, false},
		"nothing is deployed": {gatewayFacts{Findings: wrong("InvalidParameters", "spec.infrastructure.parametersRef")},
			false, false},
		"an address and no DataPlane": {
			gatewayFacts{Fronted: true, Findings: append(wrong("InvalidParameters", ""), wrong("UnsupportedAddress", "")...)},
			false, true,
		},
	} {
		if c.facts.isAccepted() != c.accepted || c.facts.isServed() != c.served {
			t.Errorf("%s: accepted %v, served %v", name, c.facts.isAccepted(), c.facts.isServed())
		}
	}
}

func TestNewBuilds(t *testing.T) {
	g := flow.New(flow.Config{Name: "test", Check: true})
	New(g, kinds.NewSources(g), Options{})
}
