package diff

import (
	"slices"
	"strings"
	"testing"
)

// TestAClassThatDoesNotExist: where a version waits for its class, the one before serves on, and nothing else of the
// edit counts; one that never had a class that exists has nothing to stay as.
func TestAClassThatDoesNotExist(t *testing.T) {
	r := newRig(t, route("a", "a.example", "/"))
	r.waits = true
	gateway, _, _ := strings.Cut(objects, "---\n")
	of := func(class string) string {
		named := strings.Replace(gateway, "gatewayClassName: cardea", "gatewayClassName: "+class, 1)
		return strings.Replace(named, "port: 80", "port: 81", 1)
	}
	const class = "---\napiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: cadrea}\n" +
		"spec: {controllerName: cardea.dev/gateway-controller}\n"
	const refused = "Gateway default/web: spec.gatewayClassName: GatewayClass cadrea does not exist; " +
		"did you mean cardea?; the version before stays in use"

	got := r.diff(false, of("cadrea"))
	if len(got.Resources)+len(got.Requests)+len(got.Objects) > 0 || !slices.Equal(got.Refused, []string{refused}) {
		t.Errorf("mistyped: %+v", got)
	}
	got = r.diff(true, of("cadrea"))
	if want := []string{"- HTTPRoute default/a", "- XBackend default/app"}; !slices.Equal(got.Objects, want) {
		t.Errorf("with prune: objects %q, want %q", got.Objects, want)
	}
	if got = r.diff(false, of("cadrea")+class); len(got.Resources) == 0 || len(got.Refused) > 0 {
		t.Errorf("with its class: %+v", got)
	}
	got = r.diff(false, strings.Replace(of("cadrea"), "name: web", "name: new", 1))
	if !slices.Equal(got.Objects, []string{"+ Gateway default/new"}) || len(got.Refused) != 1 ||
		!strings.Contains(got.Refused[0], "so no controller serves this Gateway") {
		t.Errorf("a new Gateway: %+v", got)
	}
	r.waits = false
	if got = r.diff(false, of("cadrea")); len(got.Resources) == 0 {
		t.Errorf("where nothing waits: %+v", got)
	}
}
