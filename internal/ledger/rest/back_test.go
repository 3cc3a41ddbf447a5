package rest_test

import (
	"context"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/rest"
	"cardea.dev/cardea/internal/ledger/wire"
)

// newBack is a server where carol may roll back what is in namespace shop, and nothing else.
func newBack(t *testing.T, p *requestInfo) *rig {
	t.Helper()
	r := newRig(t, func(c *rest.Config) {
		made := p.previews(c.Ledger)
		c.Preview, c.Proposer = made, made
	})
	r.ok(r.store.SetGrant(context.Background(), ledger.Grant{Name: "carol", Subjects: []string{"carol"},
		Permissions: []ledger.Permission{ledger.MayRollback}, Namespaces: []string{"shop"}}, "test"))
	return r
}

// What undo and a rollback are, the server drafts: who may roll back need not be let write or read.
func TestServerDraftsWhatGoesBack(t *testing.T) {
	r := newBack(t, &requestInfo{})
	r.create("a", "old.example")
	r.change("alice", wire.Draft{Message: "oops", Edits: []wire.Edit{editFromContent("a", "new.example"),
		editFromContent("b", "b.example")}}).
		is(201, nil)
	r.change("alice", wire.Draft{Edits: []wire.Edit{object("v1", "ConfigMap", "bank", "c", "")}}).is(201, nil)
	undo := wire.Draft{Verb: ledger.Undo, Of: 2, Back: &wire.Back{}}
	var c ledger.Change
	would := undo
	would.DryRun = true
	if r.change("carol", would).is(200, &c); len(c.Edited) != 2 || c.Verb != ledger.Undo || c.Of != 2 {
		t.Fatalf("%+v", c)
	}
	var made wire.Proposal
	r.do(call{who: "carol", method: "POST", path: "/proposals", body: undo}).is(201, &made)
	if len(made.Draft.Edits) != 2 || made.Draft.Verb != ledger.Undo || made.Message != "undo change 2: oops" {
		t.Fatalf("%+v", made)
	}
	// Bound to its preview, and refused if that is another one by then.
	var p wire.Preview
	r.do(call{who: "carol", method: "POST", path: "/preview", body: undo}).is(200, &p)
	held := wire.Draft{Edits: []wire.Edit{editFromContent("a", "new.example")}, Hold: &wire.HoldBody{Why: "x"}}
	r.change("alice", held).is(201, nil)
	bound := undo
	bound.IfPreview, bound.Release = p.Digest, true
	r.change("carol", bound).problem(403, ledger.Denied) // it may not release
	bound.Release = false
	r.change("carol", bound).problem(409, ledger.Conflict)
	bound.Release, bound.Hold, bound.Message = true, &wire.HoldBody{Why: "incident 7"}, "back"
	r.do(call{who: "alice", method: "POST", path: "/preview", body: undo}).is(200, &p)
	bound.IfPreview = p.Digest
	r.change("alice", bound).is(201, &c)
	if c.Message != "back" || len(c.Edited) != 2 || c.Verb != ledger.Undo {
		t.Fatalf("%+v", c)
	}
	r.change("alice", wire.Draft{Edits: []wire.Edit{editFromContent("a", "x")}}).problem(409, ledger.Held)

	// A rollback of some objects, and the short forms, with the same fields.
	to := wire.Draft{Verb: ledger.Rollback, Of: 2, Release: true, Back: &wire.Back{Objects: []wire.ObjectName{{
		Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: "shop", Name: "a"}}}}
	r.change("alice", to).is(201, &c)
	if len(c.Edited) != 1 || c.Verb != ledger.Rollback || c.Of != 2 || c.Edited[0].Revision != 2 {
		t.Fatalf("%+v", c)
	}
	r.do(call{who: "carol", method: "POST", path: "/changes/6/undo", body: `{"ifPreview": "another"}`}).
		problem(409, ledger.Conflict)
	r.do(call{who: "carol", method: "POST", path: "/changes/6/undo", body: `{}`}).is(201, nil)

	// Not of what carol may not roll back, of which nothing is told either.
	r.change("carol", wire.Draft{Verb: ledger.Undo, Of: 3, Back: &wire.Back{}}).problem(403, ledger.Denied)
	to.Release, to.Back.Objects[0].Namespace = false, "bank"
	r.change("carol", to).problem(403, ledger.Denied)
	r.change("carol", wire.Draft{Edits: []wire.Edit{editFromContent("a", "mine.example")}}).problem(403, ledger.Denied)
}

// What a change says that it is, it is: history does not lie.
func TestAChangeIsWhatItsVerbSays(t *testing.T) {
	r := newBack(t, &requestInfo{})
	r.create("a", "old.example")
	r.change("alice", wire.Draft{Edits: []wire.Edit{editFromContent("a", "new.example")}}).is(201, nil)
	old := wire.Edit{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: "shop", Name: "a", Revision: 1}
	gone := old
	gone.Revision, gone.Delete = 0, true
	now := old
	now.Revision = 2
	for name, c := range map[string]struct {
		draft wire.Draft
		field string
	}{
		"an undo that writes":  {wire.Draft{Verb: ledger.Undo, Of: 2, Edits: []wire.Edit{editFromContent("a", "x")}}, "verb"},
		"an undo that deletes": {wire.Draft{Verb: ledger.Undo, Of: 2, Edits: []wire.Edit{gone}}, "verb"},
		"an undo that does more": {wire.Draft{Verb: ledger.Undo, Of: 2, Edits: []wire.Edit{old, editFromContent("b", "b")}},
			"verb"},
		"a rollback to something else":   {wire.Draft{Verb: ledger.Rollback, Of: 2, Edits: []wire.Edit{old}}, "verb"},
		"an undo of nothing":             {wire.Draft{Verb: ledger.Rollback, Edits: []wire.Edit{old}}, "of"},
		"a change that is about another": {wire.Draft{Of: 1, Edits: []wire.Edit{editFromContent("a", "x")}}, "of"},
		"what no cluster adopted": {wire.Draft{Verb: ledger.Adopt, Edits: []wire.Edit{editFromContent("a", "x")}},
			"verb"},
		"a hold that writes": {wire.Draft{Verb: ledger.VerbHold, Hold: &wire.HoldBody{Why: "x"},
			Edits: []wire.Edit{editFromContent("a", "x")}}, "verb"},
		"a hold that goes back": {wire.Draft{Verb: ledger.VerbHold, Hold: &wire.HoldBody{Why: "x"},
			Edits: []wire.Edit{old}}, "verb"},
		"a hold that holds nothing": {wire.Draft{Verb: ledger.VerbHold, Edits: []wire.Edit{now}}, "hold"},
		"a release that deletes": {wire.Draft{Verb: ledger.VerbRelease, Release: true,
			Edits: []wire.Edit{gone}}, "verb"},
		"a release that releases nothing": {wire.Draft{Verb: ledger.VerbRelease, Edits: []wire.Edit{now}}, "release"},
		"back without a verb":             {wire.Draft{Back: &wire.Back{}}, "back"},
		"back with edits": {wire.Draft{Verb: ledger.Undo, Of: 2, Back: &wire.Back{}, Edits: []wire.Edit{old}},
			"back"},
	} {
		if p := r.change("alice", c.draft).problem(422, ledger.Invalid); p.Field != c.field {
			t.Errorf("%s: %+v", name, p)
		}
		proposed := r.do(call{who: "alice", method: "POST", path: "/proposals", body: c.draft})
		if p := proposed.problem(422, ledger.Invalid); p.Field != c.field {
			t.Errorf("%s, proposed: %+v", name, p)
		}
	}
	undo := call{who: "alice", method: "POST", path: "/changes", header: map[string]string{"Idempotency-Key": "once"},
		body: wire.Draft{Verb: ledger.Undo, Of: 2, Edits: []wire.Edit{old}}}
	var c, again ledger.Change
	r.do(undo).is(201, &c)
	if r.do(undo).is(200, &again); c.Verb != ledger.Undo || again.Number != c.Number {
		t.Fatalf("%+v %+v", c, again)
	}
	r.change("alice", wire.Draft{Verb: ledger.Rollback, Of: 2, Edits: []wire.Edit{{Group: old.Group, Kind: old.Kind,
		Namespace: "shop", Name: "a", Revision: 2}}}).is(201, nil)
	for _, verb := range []ledger.Verb{ledger.Apply, ledger.Import} {
		r.change("alice", wire.Draft{Verb: verb, Edits: []wire.Edit{editFromContent("a", string(verb))}}).is(201, nil)
	}
	r.change("alice", wire.Draft{Verb: ledger.Delete, Edits: []wire.Edit{gone}}).is(201, nil)
}
