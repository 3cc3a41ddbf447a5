package preview

import (
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/ledger"
	"cardea.dev/cardea/internal/ledger/store"
)

// TestWhoIsAsked: of a target that is applied to clusters, all clusters that serve it; of one that Cardeas read by
// themselves, those that were registered for that; else the one that is here.
func TestWhoIsAsked(t *testing.T) {
	s, err := store.Open(t.Context(), store.Config{URL: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	prod := ledger.Target{Name: "prod", Server: ledger.Clusters, Clusters: map[string]string{"env": "prod"}}
	if err := s.SetTarget(t.Context(), prod, "test"); err != nil {
		t.Fatal(err)
	}
	asked := func(target, here string) string {
		t.Helper()
		list, err := Of(s, here)(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, a := range list {
			if a.Diff == nil {
				a.Cluster += " (not)"
			}
			names = append(names, a.Cluster)
		}
		return strings.Join(names, ", ")
	}
	if got := asked("default", ""); got != "target default (not)" {
		t.Errorf("with nobody registered: %s", got)
	}
	if got := asked("default", "127.0.0.1:9900"); got != "standalone" {
		t.Errorf("with nobody registered: %s", got)
	}
	for _, c := range []ledger.Cluster{
		{Name: "east", Labels: map[string]string{"env": "prod"}, Kubeconfig: "east", Admin: "http://127.0.0.1:1"},
		{Name: "edge", Admin: "http://127.0.0.1:2"},
		{Name: "west", Labels: map[string]string{"env": "prod"}},
	} {
		if err := s.SetCluster(t.Context(), c, "test"); err != nil {
			t.Fatal(err)
		}
	}
	for target, want := range map[string]string{"default": "edge", "prod": "east, west (not)"} {
		if got := asked(target, "127.0.0.1:9900"); got != want {
			t.Errorf("of %s: %s, want %s", target, got, want)
		}
	}
}
