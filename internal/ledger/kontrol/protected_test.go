package kontrol_test

import (
	"strings"
	"testing"

	"cardea.dev/cardea/internal/ledger"
)

// TestProtectedTargets: Kontrol's clients know no proposals, so they change nothing of a target that needs approvals.
func TestProtectedTargets(t *testing.T) {
	r := newRig(t)
	a := r.create()
	r.ok(r.store.SetTarget(t.Context(), ledger.Target{Name: "prod", Server: ledger.Clusters, Approvals: 1}, "test"))
	for _, c := range []struct{ method, body string }{
		{"PUT", `{"desired_spec": {"spec": {"replicas": 5}}}`}, {"DELETE", ""},
	} {
		refused := r.do("alice", c.method, resources+"/"+a.ID, c.body, 403)
		if !strings.Contains(refused.Error, "approvals") {
			t.Errorf("%s: %s", c.method, refused.Error)
		}
	}
	r.is(r.get(a.ID), 1, 1)
}
