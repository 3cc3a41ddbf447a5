package policy

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// stated is a policy of a random set.
type stated struct {
	ref  model.ObjectRef
	meta model.Meta
	spec *input.PolicySpec
}

// randomPolicies are policies at all levels, some of the same age, with overrides and features that are off among them.
func randomPolicies(t *testing.T, r *rand.Rand) (list []stated) {
	targets := []struct{ namespace, ref string }{
		{"infra", onEdge}, {"shop", onWeb}, {"shop", onOrders},
		{"infra", `"targetRefs": [{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "edge",
			"sectionName": "https"}], `},
		{"infra", `"targetRefs": [{"group": "gateway.networking.k8s.io", "kind": "GatewayClass", "name": "cardea"}], `},
	}
	bodies := []string{
		`"timeouts": {"request": "1s"}`, `"timeouts": {"request": "2s", "streamIdle": "3s"}`,
		`"retry": {"attempts": 1, "codes": [503]}`, `"retry": {"codes": [500, 502]}`, `"disable": ["retry"]`,
		`"disable": ["timeouts"], "timeouts": {"streamIdle": "9s"}`, `"strategy": "PatchOverrides", "retry": {"attempts": 3}`,
		`"strategy": "PatchOverrides", "disable": ["timeouts"]`, `"timeouts": {"bad": "x"}`,
	}
	for range 2 + r.IntN(8) {
		to := targets[r.IntN(len(targets))]
		p := stated{
			ref:  model.Ref(model.KindTrafficPolicy, to.namespace, string(rune('a'+len(list)))),
			meta: model.Meta{Created: time.Unix(1_700_000_000+int64(r.IntN(4)), 0)}, spec: new(input.PolicySpec),
		}
		if err := json.Unmarshal([]byte(`{`+to.ref+bodies[r.IntN(len(bodies))]+`}`), p.spec); err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// seen is all that comes of policies.
type seen struct {
	Gateway  []plan.Setting
	Listener []plan.Setting
	Route    plan.RouteSettings
	Pieces   RoutePieces
}

func (w *tester) seen() (s seen) {
	w.g.View(func(v flow.View) {
		s.Gateway, _ = flow.Get(v, w.m.Settings.Gateways, edge)
		s.Listener, _ = flow.Get(v, w.m.Settings.Listeners, model.ListenerKey{Parent: edge, Section: "https"})
		s.Route, _ = flow.Get(v, w.m.Settings.Routes, web)
		s.Pieces, _ = flow.Get(v, w.m.Routes, web)
	})
	return s
}

func (w *tester) set(p stated) {
	w.apply(func(b *flow.Batch) {
		input.SourceOf[input.PolicySpec](w.in.Sources, p.ref.Kind()).Set(b, p.ref,
			input.Object[input.PolicySpec]{Meta: p.meta, Spec: p.spec})
	})
}

// TestOrderOfEditsDoesNotMatter: what comes of a set of policies depends on the set alone, in whatever order they came;
// and without them all is as it was before.
func TestOrderOfEditsDoesNotMatter(t *testing.T) {
	for seed := range seeds(150) {
		r := rand.New(rand.NewPCG(seed, 0))
		list := randomPolicies(t, r)
		w := newTester(t)
		empty := w.seen()
		for _, p := range list {
			w.set(p)
		}
		want := w.seen()
		other := newTester(t)
		for _, i := range r.Perm(len(list)) {
			other.set(list[i])
		}
		if got := other.seen(); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: in another order\n%+v\nwant\n%+v", seed, got, want)
		}
		for _, i := range r.Perm(len(list)) {
			w.apply(func(b *flow.Batch) {
				input.SourceOf[input.PolicySpec](w.in.Sources, list[i].ref.Kind()).Delete(b, list[i].ref)
			})
		}
		if got := w.seen(); !reflect.DeepEqual(got, empty) {
			t.Fatalf("seed %d: without the policies\n%+v\nwant\n%+v", seed, got, empty)
		}
	}
}

// seeds is how many random cases are tried; fewer where tests are to be short.
func seeds(n uint64) uint64 {
	if testing.Short() {
		return n / 5
	}
	return n
}
