package policy

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// port declares a port of the Gateway with listeners.
func (w *tester) port(number int32, protocol model.Protocol, listeners ...string) model.PortKey {
	k := model.PortKey{Gateway: edge, Number: number, Transport: model.TransportTCP}
	p := model.Port{Key: k, BindPort: number, Protocol: protocol, DataPlane: testDataPlane}
	w.apply(func(b *flow.Batch) {
		for _, name := range listeners {
			l := model.ListenerKey{Parent: edge, Section: name}
			p.Listeners = append(p.Listeners, model.PortListener{Key: l, Serves: true})
			w.listeners.Set(b, l, model.Listener{
				Key: l, Gateway: edge, DataPlane: testDataPlane, Protocol: protocol, Port: k,
			})
		}
		w.ports.Set(b, k, p)
	})
	return k
}

// onListener begins the spec of a policy on a listener.
func onListener(name string) string {
	return fmt.Sprintf(`"targetRefs": [{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "edge",
		"sectionName": %q}], `, name)
}

// of is what is rendered for a port and for a listener of it.
func (w *tester) of(k model.PortKey, listener string) (port, chain plan.ListenerSettings) {
	w.g.View(func(v flow.View) {
		port, _ = flow.Get(v, w.m.Settings.Ports, k)
		chain, _ = flow.Get(v, w.m.Settings.FilterChains, model.ListenerKey{Parent: edge, Section: listener})
	})
	return port, chain
}

// findings are those of a port.
func (w *tester) findings(k model.PortKey) (list []string) {
	w.g.View(func(v flow.View) {
		p, _ := flow.Get(v, w.m.Ports, k)
		for _, piece := range p.allPieces(k) {
			for _, f := range piece.Findings {
				line := f.Policy.Name() + " " + f.Severity.String() + " " + f.Reason + " " + f.Field + ": " + f.Message
				if !slices.Contains(list, line) {
					list = append(list, line)
				}
			}
		}
	})
	return list
}

// A listener's fields join those of its Gateway; of HTTPS each listener has its own.
func TestListenersJoinTheirGateway(t *testing.T) {
	w := newTester(t)
	k := w.port(443, model.HTTPS, "a", "b")
	w.policy(model.KindClientPolicy, "infra/base", `{`+onEdge+`"waits": {"request": "9s", "streamIdle": "1m"}}`)
	w.policy(model.KindClientPolicy, "infra/a", `{`+onListener("a")+`"waits": {"request": "5s"}}`)
	_, a := w.of(k, "a")
	_, b := w.of(k, "b")
	if got, want := string(slices.Concat(a.Chain...)), `{"request":"5s","streamIdle":"1m"}`; got != want {
		t.Errorf("a: %s, want %s", got, want)
	}
	if got, want := string(slices.Concat(b.Chain...)), `{"request":"9s","streamIdle":"1m"}`; got != want {
		t.Errorf("b: %s, want %s", got, want)
	}
	if got := w.findings(k); len(got) > 0 {
		t.Errorf("findings: %q", got)
	}
}

// Of HTTP listeners of a port the oldest policy's value holds for all, whoever is narrower.
func TestHTTPListenersOfAPortShareAValue(t *testing.T) {
	for name, test := range map[string]struct {
		policies []string // from old to young
		want     string
		findings []string
	}{
		"two listeners": {
			[]string{onListener("b") + `"waits": {"request": "1s"}`, onListener("a") + `"waits": {"request": "2s"}`},
			`{"request":"1s"}`, []string{"p1 error Conflicted spec.waits: listeners a and b", "p0 warning"},
		},
		"the same value": {
			[]string{onListener("b") + `"waits": {"request": "1s"}`, onListener("a") + `"waits": {"request": "1s"}`},
			`{"request":"1s"}`, nil,
		},
		"other fields": {
			[]string{onListener("b") + `"waits": {"request": "1s"}`, onListener("a") + `"waits": {"streamIdle": "2s"}`},
			`{"request":"1s","streamIdle":"2s"}`, []string{"p0 warning", "p1 warning"},
		},
		"an older Gateway": {
			[]string{onEdge + `"waits": {"request": "1s"}`, onListener("a") + `"waits": {"request": "2s"}`},
			`{"request":"1s"}`, []string{"p1 error Conflicted spec.waits: listeners a and b"},
		},
		"a younger Gateway": {
			[]string{onListener("a") + `"waits": {"request": "2s"}`, onEdge + `"waits": {"request": "1s"}`},
			`{"request":"2s"}`, []string{"p1 error Conflicted spec.waits: listeners b and a", "p0 warning"},
		},
		"off at one of them": {
			[]string{onEdge + `"waits": {"request": "1s"}`, onListener("a") + `"disable": ["waits"]`},
			`{"request":"1s"}`, []string{"p1 error Conflicted spec.waits: listeners a and b"},
		},
		"an override": {
			[]string{onListener("a") + `"waits": {"request": "2s"}`,
				onEdge + `"strategy": "PatchOverrides", "waits": {"request": "1s"}`},
			`{"request":"1s"}`, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTester(t)
			k := w.port(80, model.HTTP, "a", "b")
			for i, spec := range test.policies {
				w.policy(model.KindClientPolicy, fmt.Sprintf("infra/p%d", i), `{`+spec+`}`)
			}
			port, _ := w.of(k, "a")
			if got := string(slices.Concat(port.Chain...)); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			got := w.findings(k)
			if len(got) != len(test.findings) {
				t.Fatalf("findings: %q, want %q", got, test.findings)
			}
			for i, want := range test.findings {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("finding: %s, want %s...", got[i], want)
				}
			}
		})
	}
}

// Of HTTPS listeners of a port each has its own value, but of what the port has.
func TestHTTPSListenersShareWhatThePortHas(t *testing.T) {
	w := newTester(t)
	k := w.port(443, model.HTTPS, "a", "b")
	w.policy(model.KindClientPolicy, "infra/a",
		`{`+onListener("a")+`"waits": {"request": "1s", "inspection": "1s"}, "proxy": {"issuer": "x"}}`)
	w.policy(model.KindClientPolicy, "infra/b",
		`{`+onListener("b")+`"waits": {"request": "2s", "inspection": "2s"}, "proxy": {"issuer": "y"}}`)
	port, a := w.of(k, "a")
	_, b := w.of(k, "b")
	if got, want := string(slices.Concat(port.Port...)), `{"inspection":"1s"}`; got != want {
		t.Errorf("the port has %s, want %s", got, want)
	}
	if got, want := string(slices.Concat(a.Chain...)), `{"issuer":"x"}{"request":"1s"}`; got != want {
		t.Errorf("a has %s, want %s", got, want)
	}
	if got, want := string(slices.Concat(b.Chain...)), `{"issuer":"x"}{"request":"2s"}`; got != want {
		t.Errorf("b has %s, want %s", got, want)
	}
	conflicts := 0
	for _, f := range w.findings(k) {
		if strings.HasPrefix(f, "b error Conflicted") {
			conflicts++
		}
	}
	if conflicts != 2 {
		t.Errorf("findings: %q, want two conflicts of b", w.findings(k))
	}
}

// A feature that denies closes connections where it can't be served, and nowhere else.
func TestListenersThatCannotServeClose(t *testing.T) {
	w := newTester(t)
	k := w.port(443, model.HTTPS, "a", "b")
	w.policy(model.KindClientPolicy, "infra/a", `{`+onListener("a")+`"waits": {"bad": "x", "request": "1s"}}`)
	if _, a := w.of(k, "a"); !a.Closed || len(a.From) != 1 {
		t.Errorf("a: %+v, want it closed", a)
	}
	if _, b := w.of(k, "b"); b.Closed {
		t.Error("b is closed, too")
	}
}

// What comes of policies on listeners depends on the set of them alone; and without them all is as before.
func TestOrderOfEditsDoesNotMatterToListeners(t *testing.T) {
	targets := []string{onEdge, onListener("a"), onListener("b"), onListener("c"), onListener("d"),
		`"targetRefs": [{"group": "gateway.networking.k8s.io", "kind": "GatewayClass", "name": "cardea"}], `}
	bodies := []string{
		`"waits": {"request": "1s"}`, `"waits": {"request": "2s", "streamIdle": "3s"}`, `"waits": {"inspection": "1s"}`,
		`"proxy": {"issuer": "x"}`, `"proxy": {"issuer": "y"}, "waits": {"streamIdle": "1s"}`, `"disable": ["waits"]`,
		`"disable": ["proxy"], "waits": {"inspection": "9s"}`, `"waits": {"bad": "x"}`,
		`"strategy": "PatchOverrides", "waits": {"request": "5s"}`, `"strategy": "PatchOverrides", "disable": ["waits"]`,
	}
	type seen struct {
		HTTP, HTTPS PortPieces
		Ports       [2]plan.ListenerSettings
		Chains      [2]plan.ListenerSettings
	}
	for seed := range seeds(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		var list []stated
		for i := range 2 + r.IntN(7) {
			p := stated{
				ref:  model.Ref(model.KindClientPolicy, "infra", string(rune('a'+i))),
				meta: model.Meta{Created: time.Unix(1_700_000_000+int64(r.IntN(4)), 0)}, spec: new(input.PolicySpec),
			}
			text := `{` + targets[r.IntN(len(targets))] + bodies[r.IntN(len(bodies))] + `}`
			if err := json.Unmarshal([]byte(text), p.spec); err != nil {
				t.Fatal(err)
			}
			list = append(list, p)
		}
		look := func(w *tester, plain, secure model.PortKey) (s seen) {
			w.g.View(func(v flow.View) {
				s.HTTP, _ = flow.Get(v, w.m.Ports, plain)
				s.HTTPS, _ = flow.Get(v, w.m.Ports, secure)
			})
			s.Ports[0], _ = w.of(plain, "a")
			s.Ports[1], s.Chains[0] = w.of(secure, "c")
			_, s.Chains[1] = w.of(secure, "d")
			return s
		}
		fresh := func() (*tester, model.PortKey, model.PortKey) {
			w := newTester(t)
			return w, w.port(80, model.HTTP, "a", "b"), w.port(443, model.HTTPS, "c", "d")
		}
		w, plain, secure := fresh()
		empty := look(w, plain, secure)
		for _, p := range list {
			w.set(p)
		}
		want := look(w, plain, secure)
		other, _, _ := fresh()
		for _, i := range r.Perm(len(list)) {
			other.set(list[i])
		}
		if got := look(other, plain, secure); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: in another order\n%+v\nwant\n%+v", seed, got, want)
		}
		for _, i := range r.Perm(len(list)) {
			w.apply(func(b *flow.Batch) {
				input.SourceOf[input.PolicySpec](w.in.Sources, list[i].ref.Kind()).Delete(b, list[i].ref)
			})
		}
		if got := look(w, plain, secure); !reflect.DeepEqual(got, empty) {
			t.Fatalf("seed %d: without the policies\n%+v\nwant\n%+v", seed, got, empty)
		}
	}
}

// An edit of another kind's policies renders no listener, and an edit of one listener's renders no other.
func TestEditsOfOthersRenderNoListener(t *testing.T) {
	w := newTester(t)
	w.port(443, model.HTTPS, "a", "b")
	w.policy(model.KindClientPolicy, "infra/a", `{`+onListener("a")+`"waits": {"request": "1s"}}`)
	w.policy(model.KindClientPolicy, "infra/b", `{`+onListener("b")+`"waits": {"request": "1s"}}`)
	var before, after flow.Rev
	changed := func() (rev flow.Rev) {
		w.g.View(func(v flow.View) {
			rev = flow.ChangedAt(v, w.m.Settings.FilterChains, model.ListenerKey{Parent: edge, Section: "a"})
		})
		return rev
	}
	before = changed()
	w.policy(model.KindTrafficPolicy, "infra/t", `{`+onEdge+`"timeouts": {"request": "1s"}}`)
	w.policy(model.KindClientPolicy, "infra/b", `{`+onListener("b")+`"waits": {"request": "2s"}}`)
	if after = changed(); after != before {
		t.Errorf("what is rendered for listener a changed")
	}
}
