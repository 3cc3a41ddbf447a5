package conditions

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// brief prints conditions as "Type=Status Reason, ...".
const files = model.DataPlaneEnvoyConfigMap

func brief(list []metav1.Condition) string {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason)
	}
	return strings.Join(parts, ", ")
}

func bindError(kind resource.RefusalKind) resource.Standing {
	return resource.Standing{Refused: "Error adding/updating listener(s) 80: cannot bind '127.0.0.1:80': ...", Kind: kind}
}

func TestGateway(t *testing.T) {
	acked := resource.Standing{Acknowledged: true}
	one := resource.Proxies{Connected: 1, Acknowledged: 1}
	written := resource.Written{Where: "ConfigMap infra/edge-files", At: time.Unix(0, 0)}
	invalid := []model.Finding{{Condition: "Accepted", Reason: "UnsupportedProtocol"}}
	for name, c := range map[string]struct {
		gateway       GatewayFacts
		want          string
		wantListeners []string
	}{
		"all is well": {
			GatewayFacts{Listeners: []Listener{{Serves: true, Standing: acked}}, Proxies: one},
			"Accepted=True Accepted, Programmed=True Programmed",
			[]string{"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=True " +
				"Programmed"},
		},
		"no proxy": {
			GatewayFacts{Listeners: []Listener{{Serves: true, Standing: acked}}},
			"Accepted=True Accepted, Programmed=False Pending",
			[]string{"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=False " +
				"Pending"},
		},
		"a proxy that has acknowledged the listener, not everything": {
			GatewayFacts{Listeners: []Listener{{Serves: true, Standing: acked}}, Proxies: resource.Proxies{Connected: 1}},
			"Accepted=True Accepted, Programmed=False Pending",
			[]string{"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=False " +
				"Pending"},
		},
		"one of two proxies has acknowledged": {
			GatewayFacts{Listeners: []Listener{{Serves: true, Standing: acked}},
				Proxies: resource.Proxies{Connected: 2, Acknowledged: 1}},
			"Accepted=True Accepted, Programmed=False Pending", nil,
		},
		"some listener is invalid": {
			GatewayFacts{Listeners: []Listener{{Findings: invalid}, {Serves: true, Standing: acked}}, Proxies: one},
			"Accepted=True ListenersNotValid, Programmed=True Programmed",
			[]string{"Accepted=False UnsupportedProtocol, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, " +
				"Programmed=False Invalid"},
		},
		"no listener is valid": {
			GatewayFacts{Listeners: []Listener{{Findings: invalid}}, Proxies: one},
			"Accepted=False ListenersNotValid, Programmed=False Invalid", nil,
		},
		"the port is in use": {
			GatewayFacts{Listeners: []Listener{{Serves: true, Standing: bindError(resource.PortTaken)},
				{Serves: true, Standing: acked}}, Proxies: one},
			"Accepted=True ListenersNotValid, Programmed=True Programmed",
			[]string{"Accepted=False PortUnavailable, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, " +
				"Programmed=False Invalid"},
		},
		"the proxy refused one": {
			GatewayFacts{Listeners: []Listener{{Serves: true, Standing: resource.Standing{Refused: "no"}},
				{Serves: true, Standing: acked}}, Proxies: one},
			"Accepted=True ListenersNotValid, Programmed=True Programmed",
			[]string{"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=False " +
				"Invalid, " +
				"cardea.dev/Programmed=False RejectedByProxy"},
		},
		"the port needs a privilege": {
			GatewayFacts{Listeners: []Listener{{Serves: true, Standing: bindError(resource.PortForbidden)}}, Proxies: one},
			"Accepted=False ListenersNotValid, Programmed=False Invalid",
			[]string{"Accepted=False PortUnavailable, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, " +
				"Programmed=False Invalid"},
		},
		"the address is another machine's": {
			GatewayFacts{Listeners: []Listener{{Serves: true, Standing: bindError(resource.AddressUnknown)}},
				Proxies: one},
			"Accepted=False ListenersNotValid, Programmed=False AddressNotUsable",
			[]string{"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=False " +
				"Invalid"},
		},
		"a Secret that can't be read": {
			GatewayFacts{Listeners: []Listener{{Findings: []model.Finding{{Condition: "Programmed", Reason: "Pending"}}}},
				Proxies: one},
			"Accepted=False ListenersNotValid, Programmed=False Invalid",
			[]string{"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=False " +
				"Pending"},
		},
		"no address yet": {
			GatewayFacts{Listeners: []Listener{{Serves: true, Standing: acked}}, Proxies: one, Fronted: true},
			"Accepted=True Accepted, Programmed=False AddressNotAssigned", nil,
		},
		"an address that can't be had": {
			GatewayFacts{
				Listeners: []Listener{{Serves: true, Standing: acked}}, Proxies: one, Fronted: true,
				Front: model.Front{Reason: "AddressNotUsable"},
			},
			"Accepted=True Accepted, Programmed=False AddressNotUsable", nil,
		},
		"no proxy is ready": {
			GatewayFacts{
				Listeners: []Listener{{Serves: true, Standing: acked}}, Proxies: one, Fronted: true,
				Front: model.Front{Addresses: []model.Address{{Value: "10.0.0.1"}}},
			},
			"Accepted=True Accepted, Programmed=False Pending", nil,
		},
		"a proxy is ready": {
			GatewayFacts{
				Listeners: []Listener{{Serves: true, Standing: acked}}, Proxies: one, Fronted: true, Answered: true,
				Front: model.Front{Addresses: []model.Address{{Value: "10.0.0.1"}}},
			},
			"Accepted=True Accepted, Programmed=True Programmed", nil,
		},
		"parameters that can't be applied": {
			GatewayFacts{
				Listeners: []Listener{{Serves: true, Standing: acked}}, Proxies: one, Fronted: true,
				Front: model.Front{Addresses: []model.Address{{Value: "10.0.0.1"}}, Reason: "InvalidParameters"},
			},
			"Accepted=False InvalidParameters, Programmed=False Invalid", nil,
		},
		"files are not written yet": {
			GatewayFacts{Listeners: []Listener{{Serves: true}}, Proxies: one, DataPlane: files},
			"Accepted=True Accepted, Programmed=False Pending",
			[]string{"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=False " +
				"Pending"},
		},
		"files are written": {
			GatewayFacts{Listeners: []Listener{{Serves: true, Standing: acked}}, DataPlane: files, Written: written},
			"Accepted=True Accepted, Programmed=True Programmed",
			[]string{"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=True " +
				"Programmed"},
		},
		"files would be too large, and have one listener of two": {
			GatewayFacts{
				Listeners: []Listener{{Serves: true, Standing: acked}, {Serves: true}}, DataPlane: files,
				Written: resource.Written{At: written.At, TooLarge: "112 files"},
			},
			"Accepted=True Accepted, Programmed=False TooLarge",
			[]string{
				"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=True Programmed",
				"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=False TooLarge",
			},
		},
		"files are written, and no proxy is ready": {
			GatewayFacts{
				Listeners: []Listener{{Serves: true, Standing: acked}}, DataPlane: files, Written: written, Fronted: true,
				Front: model.Front{Addresses: []model.Address{{Value: "10.0.0.1"}}},
			},
			"Accepted=True Accepted, Programmed=False Pending", nil,
		},
		"the Gateway itself is not accepted": {
			GatewayFacts{Findings: []model.Finding{{Condition: "Accepted", Reason: "UnsupportedAddress"}},
				Listeners: []Listener{{}}, Proxies: one},
			"Accepted=False UnsupportedAddress, Programmed=False Invalid", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			status := Gateway(c.gateway)
			if got := brief(status.Conditions); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			for i, want := range c.wantListeners {
				if got := brief(status.Listeners[i].Conditions); got != want {
					t.Errorf("listener %d\ngot  %s\nwant %s", i, got, want)
				}
			}
		})
	}
}

func TestRoute(t *testing.T) {
	acked, pending := resource.Standing{Acknowledged: true}, resource.Standing{}
	drops := model.Finding{Section: "a", Condition: "Accepted", Reason: "UnsupportedValue", Drops: true}
	clash := model.Finding{Section: "a", Condition: "Accepted", Reason: "IncompatibleFilters", Drops: true}
	for name, c := range map[string]struct {
		route RouteFacts
		want  string
	}{
		"acknowledged": {
			RouteFacts{Rules: 1, Parents: []Parent{{Attached: true, Proxied: true, Standing: []resource.Standing{acked}}}},
			"Accepted=True Accepted, ResolvedRefs=True ResolvedRefs, cardea.dev/Programmed=True Programmed",
		},
		"acknowledged by a proxy that is gone": {
			RouteFacts{Rules: 1, Parents: []Parent{{Attached: true, Standing: []resource.Standing{acked}}}},
			"Accepted=True Accepted, ResolvedRefs=True ResolvedRefs, cardea.dev/Programmed=False Pending",
		},
		"one rule waits": {
			RouteFacts{Rules: 2, Parents: []Parent{{Attached: true, Proxied: true,
				Standing: []resource.Standing{acked, pending}}}},
			"Accepted=True Accepted, ResolvedRefs=True ResolvedRefs, cardea.dev/Programmed=False Pending",
		},
		"refused": {
			RouteFacts{Rules: 1, Parents: []Parent{{Attached: true, Proxied: true,
				Standing: []resource.Standing{{Refused: "no"}}}}},
			"Accepted=True Accepted, ResolvedRefs=True ResolvedRefs, cardea.dev/Programmed=False RejectedByProxy",
		},
		"written to files": {
			RouteFacts{Rules: 1, Parents: []Parent{{Attached: true, DataPlane: files, Standing: []resource.Standing{acked}}}},
			"Accepted=True Accepted, ResolvedRefs=True ResolvedRefs, cardea.dev/Programmed=True Programmed",
		},
		"not written to files yet": {
			RouteFacts{Rules: 1, Parents: []Parent{{Attached: true, DataPlane: files, Standing: []resource.Standing{pending}}}},
			"Accepted=True Accepted, ResolvedRefs=True ResolvedRefs, cardea.dev/Programmed=False Pending",
		},
		"too large for files": {
			RouteFacts{Rules: 1, Parents: []Parent{
				{Attached: true, DataPlane: files, TooLarge: true, Standing: []resource.Standing{pending}},
			}},
			"Accepted=True Accepted, ResolvedRefs=True ResolvedRefs, cardea.dev/Programmed=False TooLarge",
		},
		"one of two rules is dropped": {
			RouteFacts{Rules: 2, Findings: []model.Finding{drops}, Parents: []Parent{
				{Attached: true, Proxied: true, Standing: []resource.Standing{acked, acked}},
			}},
			"Accepted=True Accepted, ResolvedRefs=True ResolvedRefs, PartiallyInvalid=True UnsupportedValue, " +
				"cardea.dev/Programmed=True Programmed",
		},
		"every rule is dropped": {
			RouteFacts{Rules: 1, Findings: []model.Finding{drops},
				Parents: []Parent{{Attached: true, Proxied: true, Standing: []resource.Standing{acked}}}},
			"Accepted=False UnsupportedValue, ResolvedRefs=True ResolvedRefs, cardea.dev/Programmed=True Programmed",
		},
		"every rule is dropped, for its filters": {
			RouteFacts{Rules: 1, Findings: []model.Finding{{Condition: "ResolvedRefs", Reason: "X"}, clash, drops},
				Parents: []Parent{{}}},
			"Accepted=False IncompatibleFilters, ResolvedRefs=False X",
		},
		"not attached": {
			RouteFacts{Rules: 1,
				Parents: []Parent{{Findings: []model.Finding{{Condition: "Accepted", Reason: "NoMatchingParent"}}}}},
			"Accepted=False NoMatchingParent, ResolvedRefs=True ResolvedRefs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := brief(Route(c.route).Parents[0].Conditions); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestDroppedRule: a match that takes no request is not said to be answered.
// TestWrittenMessages: what is said of proxies that acknowledge nothing is what is known.
func TestWrittenMessages(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	g := GatewayFacts{
		Listeners: []Listener{{Serves: true, Standing: resource.Standing{Acknowledged: true}}}, DataPlane: files,
		Written: resource.Written{Where: "ConfigMap infra/edge-files", At: at},
	}
	last := func() string { return Gateway(g).Conditions[1].Message }
	const written = "written to ConfigMap infra/edge-files at 2026-01-02T03:04:05Z; " +
		"its proxies (EnvoyConfigMap) read it by themselves, and acknowledge nothing"
	if got := last(); got != written {
		t.Errorf("got  %s\nwant %s", got, written)
	}
	g.Written.TooLarge = "112 files are needed, and a proxy can follow 100"
	const tooLarge = "112 files are needed, and a proxy can follow 100 (use fewer HTTPS listeners and certificates, " +
		"or the data plane Envoy); ConfigMap infra/edge-files keeps what was written at 2026-01-02T03:04:05Z"
	if got := last(); got != tooLarge {
		t.Errorf("got  %s\nwant %s", got, tooLarge)
	}
}

func TestDroppedRule(t *testing.T) {
	drops := model.Finding{Section: "a", Field: "spec.rules[0]", Condition: "Accepted", Reason: "UnsupportedValue",
		Drops: true, Message: "why"}
	route := Route(RouteFacts{Rules: 1, Findings: []model.Finding{drops}, Parents: []Parent{{Attached: true}}})
	const want = "Dropped Rule (what it takes is answered with 500): spec.rules[0]: why"
	if got := route.Parents[0].Conditions[0].Message; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestRoutesShareConditions: those that say the same keep one list.
func TestRoutesShareConditions(t *testing.T) {
	route := func(generation int64) *metav1.Condition {
		return &Route(RouteFacts{Generation: generation, Parents: []Parent{{}}}).Parents[0].Conditions[0]
	}
	if route(1) != route(1) {
		t.Error("two routes have a list each")
	}
	if a, b := route(1), route(2); a == b || a.ObservedGeneration != 1 || b.ObservedGeneration != 2 {
		t.Errorf("of generations 1 and 2: %v, %v", a, b)
	}
}
