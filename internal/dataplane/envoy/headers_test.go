package envoy

import (
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// TestHeaders: values are literal, set replaces, add appends, remove removes; the proxy adds nothing to answers of its
// own.
func TestHeaders(t *testing.T) {
	change := &model.HeaderModifier{
		Set: []model.Header{
			{Name: "X-Set", Value: "new"}, {Name: "X-New", Value: "100%"}, {Name: "X-Format", Value: "%REQ(:path)% %% %"},
			{Name: "Many", Value: "set"},
		},
		Add:    []model.Header{{Name: "X-Add", Value: "two"}, {Name: "X-Add-New", Value: "one"}},
		Remove: []string{"X-Remove", "From-Nowhere"},
	}
	w, bind := newWorld(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		w.serve(b, 1, 80, "http", "change.test", model.Rule{
			Key: testRuleKey("change"), Matches: []model.Match{{}}, Backends: to("web"),
			RequestHeaders: change, ResponseHeaders: &model.HeaderModifier{
				Set:    []model.Header{{Name: "X-Set", Value: "100% %REQ(:path)%"}, {Name: "Many", Value: "gateway"}},
				Add:    []model.Header{{Name: "Vary", Value: "x"}},
				Remove: []string{"Content-Type"},
			},
		})
	})
	startProxy(t, w.resources())
	a := call{Host: "change.test", URI: "/p", Header: map[string]string{
		"X-Set": "old", "X-Add": "one", "X-Remove": "x", "X-Envoy-Upstream-Rq-Timeout-Ms": "10000",
	}}.do(t, bind)
	for name, want := range map[string][]string{
		"X-Set": {"new"}, "X-New": {"100%"}, "X-Format": {"%REQ(:path)% %% %"}, "Many": {"set"},
		"X-Envoy-Internal": nil, "X-Envoy-Upstream-Rq-Timeout-Ms": nil, // a client can't steer the router
		"X-Add": {"one", "two"}, "X-Add-New": {"one"}, "X-Remove": nil,
	} {
		if got := a.Seen.Header[name]; !slices.Equal(got, want) {
			t.Errorf("the backend saw %s: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string][]string{
		"X-Set": {"100% %REQ(:path)%"}, "Many": {"gateway"}, "Vary": {"x"}, "Content-Type": nil, "Server": nil,
	} {
		if got := a.Header[name]; !slices.Equal(got, want) {
			t.Errorf("the client saw %s: %q, want %q", name, got, want)
		}
	}
	for name := range a.Header {
		if strings.HasPrefix(name, "X-Envoy") {
			t.Errorf("the client saw %s", name)
		}
	}
}
