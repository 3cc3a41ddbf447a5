package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// TestReplacedFieldsAreTold: a route's condition says which of its own fields an override replaces, and by what. Of a
// policy that targets the route it has the name, too; of a route that nothing is replaced of there is no condition.
func TestReplacedFieldsAreTold(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "policies-override-fields.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeFolder(t, dir, archive)
	w := pureWorld(t, dir)
	w.Graph.View(func(v flow.View) {
		for name, want := range map[string]map[string]string{
			"web": {
				"TrafficPolicyAffected": "spec.rules[0].retry.codes replaced by that of default/floor; " +
					"spec.rules[0].timeouts.request: 60s replaced by 5s of default/floor",
				"SecurityPolicyAffected": "spec.rules[1].cors turned off by default/closed",
			},
			"own": {"TrafficPolicyAffected": "default/own; spec.rules[0].timeouts.request: 50s replaced by 5s of " +
				"default/floor"},
			"other": {},
		} {
			r, _ := w.Reports.ForKind(model.KindHTTPRoute).Get(v, model.Ref(model.KindHTTPRoute, "default", name))
			got := map[string]string{}
			for _, c := range r.Status.(gatewayv1.HTTPRouteStatus).Parents[0].Conditions {
				if kind, is := strings.CutPrefix(c.Type, "cardea.dev/"); is && strings.HasSuffix(kind, "Affected") {
					got[kind] = c.Message
				}
			}
			for kind, message := range want {
				if got[kind] != message {
					t.Errorf("%s: %s: %q, want %q", name, kind, got[kind], message)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	})
}
