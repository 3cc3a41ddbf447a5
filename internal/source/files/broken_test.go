package files

import (
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// An object is broken while its text has a mistake and nothing is published of it: until it is mended or gone, and not
// while its last good version serves.
func TestBroken(t *testing.T) {
	s := newStill(t)
	broken := func() (b input.BrokenObject) {
		s.graph.View(func(v flow.View) {
			b, _ = flow.Get(v, s.sources.Broken.Collection(), model.Ref(model.KindHTTPRoute, "shop", "web"))
		})
		return b
	}
	mistake := strings.Replace(route("web", "one"), "port: 8080", "port: eighty", 1)
	const why = "spec.rules[0].backendRefs[0].port: must be of type integer, got a string"
	const indented = "kind: HTTPRoute\napiVersion: gateway.networking.k8s.io/v1\nmetadata:\n  name: web\n" +
		"  namespace: shop\n labels: {}\n"
	for _, step := range []struct {
		what, text string
		want       input.BrokenObject
	}{
		{"broken from the start", mistake, input.BrokenObject{Where: "web.yaml:11", Why: why}},
		{"on another line", route("api", "one") + mistake, input.BrokenObject{Where: "web.yaml:22", Why: why}},
		{"gone", route("api", "one"), input.BrokenObject{}},
		{"no YAML", "kind: HTTPRoute\napiVersion: gateway.networking.k8s.io/v1\nmetadata: {name: web, namespace: shop}\n}\n",
			input.BrokenObject{
				Where: "web.yaml:4", Why: `"}" closes nothing`,
			}},
		{"indented", indented, input.BrokenObject{Where: "web.yaml:6", Why: "line 6 is indented less than line 5"}},
		{"on another line", "# One more.\n\n---\n" + indented, input.BrokenObject{
			Where: "web.yaml:9", Why: "line 9 is indented less than line 8",
		}},
		{"mended", route("web", "one"), input.BrokenObject{}},
		{"broken again, and its last good version serves", mistake, input.BrokenObject{}},
	} {
		s.write("web.yaml", step.text)
		s.look(lookRequest{paths: map[string]struct{}{"web.yaml": {}}})
		if got := broken(); got != step.want {
			t.Errorf("%s: %+v, want %+v", step.what, got, step.want)
		}
	}
}
