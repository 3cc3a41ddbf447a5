package rest_test

import (
	"context"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/rest"
	"cardea.dev/cardea/internal/ledger/wire"
)

// A report tells of requests of all namespaces: who may read one of them is not told, and can bind a change to it.
func TestPreviewIsShownToWhoMayReadAllOfTheTarget(t *testing.T) {
	r := newRig(t, func(c *rest.Config) {
		made := (&requestInfo{}).previews(c.Ledger)
		c.Preview, c.Proposer = made, made
	})
	for _, p := range []ledger.Permission{ledger.MayRead, ledger.MayWrite} {
		r.ok(r.store.SetGrant(context.Background(), ledger.Grant{Name: "carol-" + string(p), Subjects: []string{"carol"},
			Permissions: []ledger.Permission{p}, Namespaces: []string{"shop"}}, "test"))
	}
	d := wire.Draft{Edits: []wire.Edit{editFromContent("a", "a.example")}}
	var all, some wire.Preview
	r.do(call{who: "alice", method: "POST", path: "/preview", body: d}).is(200, &all)
	r.do(call{who: "carol", method: "POST", path: "/preview", body: d}).is(200, &some)
	if c := all.Clusters[0]; !strings.Contains(c.Text, "a.example") || len(c.Report) == 0 {
		t.Fatalf("alice may read all: %+v", c)
	}
	hides := func(p wire.Preview) {
		t.Helper()
		if c := p.Clusters[0]; !strings.Contains(c.Text, "not shown") || len(c.Report) != 0 || p.Digest != all.Digest {
			t.Fatalf("carol may read namespace shop only: %+v", p)
		}
	}
	hides(some)
	var made wire.Proposal
	r.do(call{who: "carol", method: "POST", path: "/proposals", body: d}).is(201, &made)
	hides(made.Preview)
	d.IfPreview = "another"
	hides(*r.change("carol", d).problem(409, ledger.Conflict).Preview)
	d.IfPreview = some.Digest
	r.change("carol", d).is(201, nil)
}
