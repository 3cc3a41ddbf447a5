package envoy

import (
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
)

// TestShares: backends get requests by weight, and what can't answer fails for its share only.
func TestShares(t *testing.T) {
	invalid := model.WeightedBackend{Backend: service("missing"), Weight: 1, Invalid: true}
	half := func(name string, weight uint32) model.WeightedBackend {
		return model.WeightedBackend{Backend: service(name), Weight: weight}
	}
	cases := []struct {
		host     string
		backends []model.WeightedBackend
		status   int
		want     map[any]int // per cent of calls, by backend, or by status where none answered
	}{
		{host: "none.test", want: map[any]int{500: 100}},
		{host: "zero.test", backends: []model.WeightedBackend{half("a", 0)}, want: map[any]int{500: 100}},
		{host: "invalid.test", backends: []model.WeightedBackend{invalid}, want: map[any]int{500: 100}},
		{host: "invalid-zero.test", backends: []model.WeightedBackend{half("a", 1),
			{Backend: service("missing"), Invalid: true}},
			want: map[any]int{"a": 100}},
		{host: "empty.test", backends: []model.WeightedBackend{half("empty", 1)}, want: map[any]int{503: 100}},
		{host: "one.test", backends: []model.WeightedBackend{half("a", 7)}, want: map[any]int{"a": 100}},
		{host: "drained.test", backends: []model.WeightedBackend{half("a", 1), half("b", 0)}, want: map[any]int{"a": 100}},
		{host: "uneven.test", backends: []model.WeightedBackend{half("a", 1), half("b", 3)},
			want: map[any]int{"a": 25, "b": 75}},
		{host: "part-invalid.test", backends: []model.WeightedBackend{half("a", 1), invalid},
			want: map[any]int{"a": 50, 500: 50}},
		{host: "part-empty.test", backends: []model.WeightedBackend{half("a", 1), half("empty", 1)},
			want: map[any]int{"a": 50, 503: 50}},
		{host: "huge.test", backends: []model.WeightedBackend{half("a", message.Unlimited), half("b", message.Unlimited),
			half("empty", 1)},
			want: map[any]int{"a": 50, "b": 50}},
	}
	w, bind := newWorld(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("a"), startBackend(t, "a"))
		w.addBackend(b, service("b"), startBackend(t, "b"))
		w.addBackend(b, service("empty"))
		for i, c := range cases {
			w.serve(b, i, 80, "http", c.host, model.Rule{Key: testRuleKey(c.host), Matches: []model.Match{{}},
				Backends: c.backends})
		}
		w.serve(b, 100, 80, "http", "error.test",
			model.Rule{Key: testRuleKey("error"), Matches: []model.Match{{}}, Error: 503, Backends: to("a")})
	})
	startProxy(t, w.resources())
	for _, c := range cases {
		calls := 20
		if len(c.want) > 1 {
			calls = 400
		}
		got := make(map[any]int)
		for range calls {
			a := call{Host: c.host, URI: "/"}.do(t, bind)
			if a.Seen.Backend != "" {
				got[a.Seen.Backend]++
			} else {
				got[a.Status]++
			}
		}
		for what, want := range c.want {
			// 400 calls: 10 per cent are four standard deviations
			if percent := got[what] * 100 / calls; percent < want-10 || percent > want+10 {
				t.Errorf("%s: %v got %d%%, want %d%%", c.host, what, percent, want)
			}
			delete(got, what)
		}
		for what, n := range got {
			t.Errorf("%s: %v got %d calls, want none", c.host, what, n)
		}
	}
	if a := (call{Host: "error.test", URI: "/"}).do(t, bind); a.Status != 503 || a.Seen.Backend != "" {
		t.Errorf("error.test: %+v", a)
	}
}

// TestBackendByName: an XBackend's host is looked up by the proxy, and one whose name is not known answers 503.
func TestBackendByName(t *testing.T) {
	w, bind := newWorld(t), freePort(t)
	known := model.BackendKey{Object: model.Ref(model.KindXBackend, "shop", "known")}
	unknown := model.BackendKey{Object: model.Ref(model.KindXBackend, "shop", "unknown")}
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		w.setBackend(b, model.Backend{Key: known, Hostname: "localhost", HostPort: startBackend(t, "known").Port})
		w.setBackend(b, model.Backend{Key: unknown, Hostname: "unknown.invalid", HostPort: 80})
		for i, k := range []model.BackendKey{known, unknown} {
			w.serve(b, i, 80, "http", k.Object.Name()+".test", model.Rule{
				Key: testRuleKey(k.Object.Name()), Matches: []model.Match{{}},
				Backends: []model.WeightedBackend{{Backend: k, Weight: 1}},
			})
		}
	})
	p := startProxy(t, w.resources())
	p.await(t, "/clusters", `xbackend/shop/known::127.0.0.1`)
	if a := (call{Host: "known.test", URI: "/"}).do(t, bind); a.Seen.Backend != "known" || a.Seen.Host != "known.test" {
		t.Errorf("known.test: %+v", a)
	}
	if a := (call{Host: "unknown.test", URI: "/"}).do(t, bind); a.Status != 503 {
		t.Errorf("unknown.test: %+v", a)
	}
}
