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

var files = model.DataPlane{Name: "EnvoyConfigMap", ReadsFiles: true}

// brief prints conditions as "Type=Status Reason, ...".
func brief(list []metav1.Condition) string {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason)
	}
	return strings.Join(parts, ", ")
}

func bindError(kind resource.RefusalKind) resource.AckState {
	return resource.AckState{Refused: "Error adding/updating listener(s) 80: cannot bind '127.0.0.1:80': ...", Kind: kind}
}

func TestGateway(t *testing.T) {
	acked := resource.AckState{Acknowledged: true}
	one := resource.ProxySummary{Connected: 1, Acknowledged: 1}
	written := resource.WrittenFiles{Where: "ConfigMap infra/edge-files", At: time.Unix(0, 0)}
	invalid := []model.Finding{{Condition: "Accepted", Reason: "UnsupportedProtocol"}}
	for name, c := range map[string]struct {
		gateway       GatewayFacts
		want          string
		wantListeners []string
	}{
		"all is well": {
			GatewayFacts{Listeners: []ListenerFacts{{Serves: true, AckState: acked}}, Proxies: one},
			"Accepted=True Accepted, Programmed=True Programmed",
			[]string{"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=True " +
				"Programmed"},
		},
		"no proxy": {
			GatewayFacts{Listeners: []ListenerFacts{{Serves: true, AckState: acked}}},
			"Accepted=True Accepted, Programmed=False Pending",
			[]string{"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=False " +
				"Pending"},
		},
		"a proxy that has acknowledged the listener, not everything": {
			GatewayFacts{Listeners: []ListenerFacts{{Serves: true, AckState: acked}},
				Proxies: resource.ProxySummary{Connected: 1}},
			"Accepted=True Accepted, Programmed=False Pending",
			[]string{"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=False " +
				"Pending"},
		},
		"one of two proxies has acknowledged": {
			GatewayFacts{Listeners: []ListenerFacts{{Serves: true, AckState: acked}},
				Proxies: resource.ProxySummary{Connected: 2, Acknowledged: 1}},
			"Accepted=True Accepted, Programmed=False Pending", nil,
		},
		"some listener is invalid": {
			GatewayFacts{Listeners: []ListenerFacts{{Findings: invalid}, {Serves: true, AckState: acked}}, Proxies: one},
			"Accepted=True ListenersNotValid, Programmed=True Programmed",
			[]string{"Accepted=False UnsupportedProtocol, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, " +
				"Programmed=False Invalid"},
		},
		"no listener is valid": {
			GatewayFacts{Listeners: []ListenerFacts{{Findings: invalid}}, Proxies: one},
			"Accepted=False ListenersNotValid, Programmed=False Invalid", nil,
		},
		"the port is in use": {
			GatewayFacts{Listeners: []ListenerFacts{{Serves: true, AckState: bindError(resource.PortTaken)},
				{Serves: true, AckState: acked}}, Proxies: one},
			"Accepted=True ListenersNotValid, Programmed=True Programmed",
			[]string{"Accepted=False PortUnavailable, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, " +
				"Programmed=False Invalid"},
		},
		"the proxy refused one": {
			GatewayFacts{Listeners: []ListenerFacts{{Serves: true, AckState: resource.AckState{Refused: "no"}},
				{Serves: true, AckState: acked}}, Proxies: one},
			"Accepted=True ListenersNotValid, Programmed=True Programmed",
			[]string{"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=False " +
				"Invalid, " +
				"cardea.dev/Programmed=False RejectedByProxy"},
		},
		"the port needs a privilege": {
			GatewayFacts{Listeners: []ListenerFacts{{Serves: true, AckState: bindError(resource.PortForbidden)}}, Proxies: one},
			"Accepted=False ListenersNotValid, Programmed=False Invalid",
			[]string{"Accepted=False PortUnavailable, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, " +
				"Programmed=False Invalid"},
		},
		"the address is another machine's": {
			GatewayFacts{Listeners: []ListenerFacts{{Serves: true, AckState: bindError(resource.AddressUnknown)}},
				Proxies: one},
			"Accepted=False ListenersNotValid, Programmed=False AddressNotUsable",
			[]string{"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=False " +
				"Invalid"},
		},
		"a Secret that can't be read": {
			GatewayFacts{Listeners: []ListenerFacts{{Findings: []model.Finding{{Condition: "Programmed", Reason: "Pending"}}}},
				Proxies: one},
			"Accepted=False ListenersNotValid, Programmed=False Invalid",
			[]string{"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=False " +
				"Pending"},
		},
		"no address yet": {
			GatewayFacts{Listeners: []ListenerFacts{{Serves: true, AckState: acked}}, Proxies: one, Fronted: true},
			"Accepted=True Accepted, Programmed=False AddressNotAssigned", nil,
		},
		"an address that can't be had": {
			GatewayFacts{
				Listeners: []ListenerFacts{{Serves: true, AckState: acked}}, Proxies: one, Fronted: true,
				Front: model.Front{Reason: "AddressNotUsable"},
			},
			"Accepted=True Accepted, Programmed=False AddressNotUsable", nil,
		},
		"no proxy is ready": {
			GatewayFacts{
				Listeners: []ListenerFacts{{Serves: true, AckState: acked}}, Proxies: one, Fronted: true,
				Front: model.Front{Addresses: []model.Address{{Value: "10.0.0.1"}}},
			},
			"Accepted=True Accepted, Programmed=False Pending", nil,
		},
		"a proxy is ready": {
			GatewayFacts{
				Listeners: []ListenerFacts{{Serves: true, AckState: acked}}, Proxies: one, Fronted: true, Answered: true,
				Front: model.Front{Addresses: []model.Address{{Value: "10.0.0.1"}}},
			},
			"Accepted=True Accepted, Programmed=True Programmed", nil,
		},
		"parameters that can't be applied": {
			GatewayFacts{
				Listeners: []ListenerFacts{{Serves: true, AckState: acked}}, Proxies: one, Fronted: true,
				Front: model.Front{Addresses: []model.Address{{Value: "10.0.0.1"}}, Reason: "InvalidParameters"},
			},
			"Accepted=False InvalidParameters, Programmed=False Invalid", nil,
		},
		"files are not written yet": {
			GatewayFacts{Listeners: []ListenerFacts{{Serves: true}}, Proxies: one, DataPlane: files},
			"Accepted=True Accepted, Programmed=False Pending",
			[]string{"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=False " +
				"Pending"},
		},
		"files are written": {
			GatewayFacts{Listeners: []ListenerFacts{{Serves: true, AckState: acked}}, DataPlane: files, Written: written},
			"Accepted=True Accepted, Programmed=True Programmed",
			[]string{"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=True " +
				"Programmed"},
		},
		"files would be too large, and have one listener of two": {
			GatewayFacts{
				Listeners: []ListenerFacts{{Serves: true, AckState: acked}, {Serves: true}}, DataPlane: files,
				Written: resource.WrittenFiles{At: written.At, TooLarge: "112 files"},
			},
			"Accepted=True Accepted, Programmed=False TooLarge",
			[]string{
				"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=True Programmed",
				"Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=False TooLarge",
			},
		},
		"files are written, and no proxy is ready": {
			GatewayFacts{
				Listeners: []ListenerFacts{{Serves: true, AckState: acked}}, DataPlane: files, Written: written, Fronted: true,
				Front: model.Front{Addresses: []model.Address{{Value: "10.0.0.1"}}},
			},
			"Accepted=True Accepted, Programmed=False Pending", nil,
		},
		"the Gateway itself is not accepted": {
			GatewayFacts{Findings: []model.Finding{{Condition: "Accepted", Reason: "UnsupportedAddress"}},
				Listeners: []ListenerFacts{{}}, Proxies: one},
			"Accepted=False UnsupportedAddress, Programmed=False Invalid", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			status := GatewayStatus(c.gateway)
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
	acked, pending := resource.AckState{Acknowledged: true}, resource.AckState{}
	drops := model.Finding{Section: "a", Condition: "Accepted", Reason: "UnsupportedValue", Drops: true}
	clash := model.Finding{Section: "a", Condition: "Accepted", Reason: "IncompatibleFilters", Drops: true}
	for name, c := range map[string]struct {
		route RouteFacts
		want  string
	}{
		"acknowledged": {
			RouteFacts{Rules: 1, Parents: []RouteParent{{Attached: true, Proxied: true, AckStates: []resource.AckState{acked}}}},
			"Accepted=True Accepted, ResolvedRefs=True ResolvedRefs, cardea.dev/Programmed=True Programmed",
		},
		"acknowledged by a proxy that is gone": {
			RouteFacts{Rules: 1, Parents: []RouteParent{{Attached: true, AckStates: []resource.AckState{acked}}}},
			"Accepted=True Accepted, ResolvedRefs=True ResolvedRefs, cardea.dev/Programmed=False Pending",
		},
		"one rule waits": {
			RouteFacts{Rules: 2, Parents: []RouteParent{{Attached: true, Proxied: true,
				AckStates: []resource.AckState{acked, pending}}}},
			"Accepted=True Accepted, ResolvedRefs=True ResolvedRefs, cardea.dev/Programmed=False Pending",
		},
		"refused": {
			RouteFacts{Rules: 1, Parents: []RouteParent{{Attached: true, Proxied: true,
				AckStates: []resource.AckState{{Refused: "no"}}}}},
			"Accepted=True Accepted, ResolvedRefs=True ResolvedRefs, cardea.dev/Programmed=False RejectedByProxy",
		},
		"written to files": {
			RouteFacts{Rules: 1, Parents: []RouteParent{{Attached: true, DataPlane: files,
				AckStates: []resource.AckState{acked}}}},
			"Accepted=True Accepted, ResolvedRefs=True ResolvedRefs, cardea.dev/Programmed=True Programmed",
		},
		"not written to files yet": {
			RouteFacts{Rules: 1, Parents: []RouteParent{{Attached: true, DataPlane: files,
				AckStates: []resource.AckState{pending}}}},
			"Accepted=True Accepted, ResolvedRefs=True ResolvedRefs, cardea.dev/Programmed=False Pending",
		},
		"too large for files": {
			RouteFacts{Rules: 1, Parents: []RouteParent{
				{Attached: true, DataPlane: files, TooLarge: true, AckStates: []resource.AckState{pending}},
			}},
			"Accepted=True Accepted, ResolvedRefs=True ResolvedRefs, cardea.dev/Programmed=False TooLarge",
		},
		"one of two rules is dropped": {
			RouteFacts{Rules: 2, Findings: []model.Finding{drops}, Parents: []RouteParent{
				{Attached: true, Proxied: true, AckStates: []resource.AckState{acked, acked}},
			}},
			"Accepted=True Accepted, ResolvedRefs=True ResolvedRefs, PartiallyInvalid=True UnsupportedValue, " +
				"cardea.dev/Programmed=True Programmed",
		},
		"every rule is dropped": {
			RouteFacts{Rules: 1, Findings: []model.Finding{drops},
				Parents: []RouteParent{{Attached: true, Proxied: true, AckStates: []resource.AckState{acked}}}},
			"Accepted=False UnsupportedValue, ResolvedRefs=True ResolvedRefs, cardea.dev/Programmed=True Programmed",
		},
		"every rule is dropped, for its filters": {
			RouteFacts{Rules: 1, Findings: []model.Finding{{Condition: "ResolvedRefs", Reason: "X"}, clash, drops},
				Parents: []RouteParent{{}}},
			"Accepted=False IncompatibleFilters, ResolvedRefs=False X",
		},
		"not attached": {
			RouteFacts{Rules: 1,
				Parents: []RouteParent{{Findings: []model.Finding{{Condition: "Accepted", Reason: "NoMatchingParent"}}}}},
			"Accepted=False NoMatchingParent, ResolvedRefs=True ResolvedRefs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := brief(RouteStatus(c.route).Parents[0].Conditions); got != c.want {
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
		Listeners: []ListenerFacts{{Serves: true, AckState: resource.AckState{Acknowledged: true}}}, DataPlane: files,
		Written: resource.WrittenFiles{Where: "ConfigMap infra/edge-files", At: at},
	}
	last := func() string { return GatewayStatus(g).Conditions[1].Message }
	const written = "written to ConfigMap infra/edge-files at 2026-01-02T03:04:05Z; " +
		"its proxies (EnvoyConfigMap) read it by themselves, and acknowledge nothing"
	if got := last(); got != written {
		t.Errorf("got  %s\nwant %s", got, written)
	}
	g.Written.TooLarge = "112 files are needed, but a proxy can follow 100 at most"
	const tooLarge = "112 files are needed, but a proxy can follow 100 at most (use fewer HTTPS listeners and " +
		"certificates, or a data plane that reads no files); ConfigMap infra/edge-files keeps the content that was " +
		"written at 2026-01-02T03:04:05Z"
	if got := last(); got != tooLarge {
		t.Errorf("got  %s\nwant %s", got, tooLarge)
	}
}

func TestDroppedRule(t *testing.T) {
	drops := model.Finding{Section: "a", Field: "spec.rules[0]", Condition: "Accepted", Reason: "UnsupportedValue",
		Drops: true, Message: "why"}
	route := RouteStatus(RouteFacts{Rules: 1, Findings: []model.Finding{drops}, Parents: []RouteParent{{Attached: true}}})
	const want = "Dropped Rule (its requests get 500): spec.rules[0]: why"
	if got := route.Parents[0].Conditions[0].Message; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestRoutesShareConditions: those that say the same keep one list.
func TestRoutesShareConditions(t *testing.T) {
	route := func(generation int64) *metav1.Condition {
		return &RouteStatus(RouteFacts{Generation: generation, Parents: []RouteParent{{}}}).Parents[0].Conditions[0]
	}
	if route(1) != route(1) {
		t.Error("two routes have a list each")
	}
	if a, b := route(1), route(2); a == b || a.ObservedGeneration != 1 || b.ObservedGeneration != 2 {
		t.Errorf("of generations 1 and 2: %v, %v", a, b)
	}
}
