package compat_test

import (
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/admission"
	"cardea.dev/cardea/internal/ledger/compat"
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
	list, err := r.store.Denials(t.Context(), ledger.Page{})
	if err != nil || len(list) != 2 || list[1].Subject != "alice" || list[1].Permission != ledger.MayWrite ||
		!strings.HasPrefix(list[1].Request, "PUT "+resources) {
		t.Fatalf("the denials are %+v, %v", list, err)
	}
}

// TestDenialsOfWhatIsMeant: who may write what was stated, and not what is meant by it, is refused, and that is noted.
func TestDenialsOfWhatIsMeant(t *testing.T) {
	r := newRig(t, func(c *compat.Config) {
		c.Admit = admission.New(admission.Config{Ledger: c.Ledger, Catalog: kinds.NewCatalog()})
	})
	r.ok(r.store.SetGrant(t.Context(), ledger.Grant{Name: "b", Subjects: []string{"bob"},
		Permissions: []ledger.Permission{ledger.MayWrite}, Namespaces: []string{""}}, "test"))
	r.do("bob", "POST", resources, `{"kind": "HTTPRoute", "api_version": "gateway.networking.k8s.io/v1", "name": "web",
		"desired_spec": {"parentRefs": [{"name": "edge"}]}}`, 403)
	list, err := r.store.Denials(t.Context(), ledger.Page{})
	if err != nil || len(list) != 1 || list[0].Subject != "bob" || list[0].Object != "HTTPRoute default/web" {
		t.Fatalf("the denials are %+v, %v", list, err)
	}
}
