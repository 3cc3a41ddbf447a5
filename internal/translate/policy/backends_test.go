package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

const (
	onClass = `"targetRefs": [{"group": "gateway.networking.k8s.io", "kind": "GatewayClass", "name": "cardea"}], `
	onBlue  = `"targetRefs": [{"group": "", "kind": "Service", "name": "blue"}], `
	onAdmin = `"targetRefs": [{"group": "", "kind": "Service", "name": "blue", "sectionName": "admin"}], `
)

// wantBackend compares what is in force and what is lost at a backend, and the settings, with lines.
func (w *tester) wantBackend(b model.BackendKey, want ...string) {
	w.t.Helper()
	var got []string
	key := plan.BackendKey{Gateway: edge, Backend: b}
	w.g.View(func(v flow.View) {
		for _, p := range w.m.PiecesOfBackend(v, key) {
			if p.JSON == "" {
				got = append(got, fmt.Sprintf("%s is off: %s", p.Feature, p.Disabled))
			}
			for _, f := range p.Fields {
				got = append(got, fmt.Sprintf("%s.%s = %s: %s", p.Feature, f.Path, f.Value, f.From))
			}
			for _, l := range p.Superseded {
				got = append(got, fmt.Sprintf("%s.%s over %s: %s", p.Feature, l.Path, l.Value, l.From))
			}
			for _, f := range p.Findings {
				got = append(got, fmt.Sprintf("%s: %s: %s", f.Policy, f.Field, f.Message))
			}
		}
		if s, some := flow.Get(v, w.m.Settings.Backends, key); some {
			got = append(got, fmt.Sprintf("%s of %v", []byte(slices.Concat(s.Fields...)), s.From))
			if s.Closed {
				got = append(got, "it is closed")
			}
		}
	})
	if !slices.Equal(got, want) {
		w.t.Errorf("%s: got\n\t%s\nwant\n\t%s", b.Describe(), strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// TestBackends: the class, the Gateway, the backend and its port state fields, and the narrowest counts.
func TestBackends(t *testing.T) {
	w := newTester(t)
	w.wantBackend(blue)
	w.policy(model.KindBackendPolicy, "infra/c", `{`+onClass+`"limits": {"attempts": 1, "maxAge": 1, "issuer": "c"}}`)
	w.policy(model.KindBackendPolicy, "infra/g", `{`+onEdge+`"limits": {"attempts": 2, "maxAge": 2}}`)
	w.policy(model.KindBackendPolicy, "shop/b", `{`+onBlue+`"limits": {"attempts": 3}}`)
	w.policy(model.KindBackendPolicy, "shop/p", `{`+onAdmin+`"disable": ["limits"]}`)
	w.policy(model.KindBackendPolicy, "else/b", `{`+onBlue+`"limits": {"attempts": 9}}`)
	w.wantBackend(blue,
		`limits.attempts = 3: BackendPolicy shop/b, on the backend`,
		`limits.issuer = "c": BackendPolicy infra/c, on the GatewayClass`,
		`limits.maxAge = 2: BackendPolicy infra/g, on the Gateway`,
		`limits.attempts over 1: BackendPolicy infra/c, on the GatewayClass`,
		`limits.maxAge over 1: BackendPolicy infra/c, on the GatewayClass`,
		`limits.attempts over 2: BackendPolicy infra/g, on the Gateway`,
		`{"attempts":3,"issuer":"c","maxAge":2} of [BackendPolicy infra/c BackendPolicy infra/g BackendPolicy shop/b]`,
	)
	w.wantBackend(admin,
		`limits is off: BackendPolicy shop/p, on the backend's port`,
		`limits.attempts over 1: BackendPolicy infra/c, on the GatewayClass`,
		`limits.issuer over "c": BackendPolicy infra/c, on the GatewayClass`,
		`limits.maxAge over 1: BackendPolicy infra/c, on the GatewayClass`,
		`limits.attempts over 2: BackendPolicy infra/g, on the Gateway`,
		`limits.maxAge over 2: BackendPolicy infra/g, on the Gateway`,
		`limits.attempts over 3: BackendPolicy shop/b, on the backend`,
	)
}

// TestKept: of what a backend's policy states, the field that is wrong is left out.
func TestKept(t *testing.T) {
	w := newTester(t)
	w.policy(model.KindBackendPolicy, "shop/b", `{`+onBlue+`"limits": {"attempts": 3, "bad": "x"}}`)
	w.wantBackend(blue,
		`limits.attempts = 3: BackendPolicy shop/b, on the backend`,
		`limits.bad = "x": BackendPolicy shop/b, on the backend`,
		`BackendPolicy shop/b: spec.limits.bad: it must not be stated`,
		`{"attempts":3} of [BackendPolicy shop/b]`,
	)
}

// TestDenied: a backend whose policy states something wrong that must not be left out is closed, and no other is. Where
// a policy's fields count is told of backends, too, first where something is wrong.
func TestDenied(t *testing.T) {
	w := newTester(t)
	w.policy(model.KindBackendPolicy, "shop/b", `{`+onBlue+`"credentials": {"issuer": "i"}, "limits": {"attempts": 3}}`)
	w.policy(model.KindBackendPolicy, "shop/p", `{`+onAdmin+`"credentials": {"bad": "x"}}`)
	w.wantBackend(blue,
		`credentials.issuer = "i": BackendPolicy shop/b, on the backend`,
		`limits.attempts = 3: BackendPolicy shop/b, on the backend`,
		`{"issuer":"i"}{"attempts":3} of [BackendPolicy shop/b]`)
	w.wantBackend(admin,
		`credentials.bad = "x": BackendPolicy shop/p, on the backend's port`,
		`credentials.issuer = "i": BackendPolicy shop/b, on the backend`,
		`BackendPolicy shop/p: spec.credentials.bad: it must not be stated`,
		`limits.attempts = 3: BackendPolicy shop/b, on the backend`,
		`{"attempts":3} of [BackendPolicy shop/b BackendPolicy shop/p]`, "it is closed")
	var got []string
	w.g.View(func(v flow.View) {
		for _, r := range w.m.TraceFields(v, model.Ref(model.KindBackendPolicy, "shop", "b")) {
			got = append(got, fmt.Sprint(r.Field, r.InForce))
		}
	})
	if want := []string{
		"credentials.issuer[Service shop/blue port 90 at Gateway infra/edge, where requests get 503 " +
			"Service shop/blue port 80 at Gateway infra/edge]",
		"limits.attempts[Service shop/blue port 90 at Gateway infra/edge Service shop/blue port 80 at Gateway infra/edge]",
	}; !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
