package envoy

import (
	"math"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/route"
)

// TestSharesOfFilteredBackends: backends with filters get requests by weight, too, and what is mirrored is its share of
// them.
func TestSharesOfFilteredBackends(t *testing.T) {
	filtered := func(name string, weight uint32) model.WeightedBackend {
		return model.WeightedBackend{Backend: service(name), Weight: weight, Filters: &model.Filters{
			RequestHeaders: &model.HeaderModifier{Set: []model.Header{{Name: "x-share", Value: name}}},
		}}
	}
	cases := []struct {
		host     string
		backends []model.WeightedBackend
		want     map[string]int // per cent of calls, by backend; "" is 500
	}{
		{"uneven.test", []model.WeightedBackend{filtered("a", 1), filtered("b", 2), {Backend: service("c"), Weight: 1}},
			map[string]int{"a": 25, "b": 50, "c": 25}},
		{"none.test", []model.WeightedBackend{filtered("a", 0)}, map[string]int{"": 100}},
		{"zero.test", []model.WeightedBackend{filtered("a", 0), filtered("b", 1), filtered("c", 0)},
			map[string]int{"b": 100}},
		{"huge.test", []model.WeightedBackend{filtered("a", math.MaxUint32), filtered("b", math.MaxUint32), filtered("c", 1)},
			map[string]int{"a": 50, "b": 50}},
		{"invalid.test", []model.WeightedBackend{filtered("a", 1), {Backend: service("gone"), Weight: 1, Invalid: true}},
			map[string]int{"a": 50, "": 50}},
	}
	w, bind := newWorld(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		for _, name := range []string{"a", "b", "c"} {
			w.addBackend(b, service(name), startBackend(t, name))
		}
		for i, c := range cases {
			w.serve(b, i, 80, "http", c.host, model.Rule{Key: testRuleKey(c.host), Matches: []model.Match{{}},
				Backends: c.backends})
		}
	})
	startProxy(t, w.resources())
	for _, c := range cases {
		got := map[string]int{}
		for range 400 {
			a := call{Host: c.host, URI: "/"}.do(t, bind)
			got[a.Seen.Backend]++
			if name := a.Seen.Backend; name != "" && name != "c" && a.Seen.Header.Get("X-Share") != name {
				t.Fatalf("%s: %s saw %v", c.host, name, a.Seen.Header)
			}
		}
		for _, name := range []string{"", "a", "b", "c"} {
			// 400 calls: 10 per cent are four standard deviations
			if percent, want := got[name]*100/400, c.want[name]; percent < want-10 || percent > want+10 || want == 0 &&
				percent > 0 {
				t.Errorf("%s: %q got %d%%, want %d%%", c.host, name, percent, want)
			}
		}
	}
}

// TestMirroredShare: the share that Envoy is told is the one that was asked for, as near as it can be.
func TestMirroredShare(t *testing.T) {
	for _, c := range []struct {
		numerator, denominator int32
		want                   uint32 // millionths; 0: no fraction, all of them
	}{
		{100, 100, 0}, {7, 7, 0}, {50, 100, 500_000}, {1, 3, 333_333}, {2, 3, 666_667}, {1, math.MaxInt32, 1},
		{math.MaxInt32 - 1, math.MaxInt32, 1_000_000},
	} {
		policies := route.MirrorPolicies([]model.Mirror{{Backend: service("m"), Numerator: c.numerator,
			Denominator: c.denominator}})
		if got := policies[0].GetRuntimeFraction().GetDefaultValue().GetNumerator(); len(policies) != 1 || got != c.want {
			t.Errorf("%d of %d: %d, want %d", c.numerator, c.denominator, got, c.want)
		}
	}
}
