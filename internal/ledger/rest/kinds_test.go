package rest_test

import (
	"testing"

	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/rest"
	"cardea.dev/cardea/internal/ledger/wire"
)

// A kind that Cardea reads needs no group, and may be written as on a command line.
func TestKindNeedsNoGroupWhereOneIsKnown(t *testing.T) {
	catalog := kinds.NewCatalog()
	r := newRig(t, func(c *rest.Config) {
		c.Kind = func(word string) (group, kind string, known bool) {
			k, ok := catalog.FindByName(word)
			if !ok {
				return "", "", false
			}
			return k.Group(), k.Kind.String(), true
		}
	})
	r.create("a", "a.example")
	var o ledger.Object
	for _, word := range []string{route, "HTTPRoute", "httproutes"} {
		at := "/targets/default/objects/" + word + "/shop/a"
		if r.do(call{who: "bob", method: "GET", path: at}).is(200, &o); o.Kind != "HTTPRoute" || o.Group == "" {
			t.Fatalf("%s: %+v", word, o)
		}
		r.do(call{who: "bob", method: "GET", path: at + "/history"}).is(200, nil)
		var list wire.ChangePage
		r.do(call{who: "bob", method: "GET", path: "/changes?namespace=shop&name=a&kind=" + word}).is(200, &list)
		var status struct{ Objects []ledger.Status }
		r.do(call{who: "bob", method: "GET", path: "/status?namespace=shop&name=a&kind=" + word}).is(200, &status)
		if len(list.Changes) != 1 || len(status.Objects) != 1 {
			t.Fatalf("%s: %+v %+v", word, list, status)
		}
	}
	r.do(call{who: "alice", method: "PUT", path: "/targets/default/objects/HTTPRoute/shop/a", body: web("a", "b.example"),
		header: ifMatch(`"1"`)}).is(201, nil)
	r.change("alice", wire.Draft{Verb: ledger.Rollback, Of: 1, Back: &wire.Back{Objects: []wire.ObjectName{{
		Kind: "HTTPRoute", Namespace: "shop", Name: "a"}}}}).is(201, nil)
	r.change("alice", wire.Draft{Edits: []wire.Edit{{Kind: "HTTPRoute", Namespace: "shop", Name: "a", Delete: true}}}).
		is(201, nil)
	// Of a kind that is not known, the group counts.
	r.do(call{who: "alice", method: "GET", path: "/targets/default/objects/Widget/shop/a"}).problem(404, ledger.NotFound)
}
