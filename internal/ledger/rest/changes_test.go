package rest_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/rest"
	"cardea.dev/cardea/internal/ledger/wire"
	"cardea.dev/cardea/internal/ops/diff"
	"cardea.dev/cardea/internal/ops/ledgerpreview"
)

// editFromContent is an edit that writes an HTTPRoute of namespace shop.
func editFromContent(name, host string) wire.Edit {
	return wire.Edit{Content: ledger.Content(web(name, host))}
}

func (r *rig) change(who string, d wire.Draft) answer {
	r.t.Helper()
	return r.do(call{who: who, method: "POST", path: "/changes", body: d})
}

func TestChangeOfManyObjectsIsWholeOrNothing(t *testing.T) {
	r := newRig(t)
	r.create("a", "a.example")
	stale := int64(7)
	bad := editFromContent("c", "c.example")
	bad.Expect = &stale
	d := wire.Draft{Edits: []wire.Edit{editFromContent("a", "b.example"), editFromContent("b", "b.example"), bad},
		Message: "three"}
	if p := r.change("alice", d).problem(412, ledger.Stale); p.Object != "HTTPRoute shop/c" {
		t.Fatalf("%+v", p)
	}
	r.do(call{who: "bob", method: "GET", path: path("b")}).problem(404, ledger.NotFound)
	d.Edits[2].Expect = nil
	var c ledger.Change
	a := r.change("alice", d).is(201, &c)
	if c.Number != 2 || len(c.Edited) != 3 || c.Message != "three" || a.Header.Get("Location") != "/ledger/v1/changes/2" {
		t.Fatalf("%+v", c)
	}
	var seen ledger.Change
	r.do(call{who: "bob", method: "GET", path: "/changes/2"}).is(200, &seen)
	if len(seen.Edited) != 3 || seen.Author != "alice" || seen.Hidden != 0 {
		t.Fatalf("%+v", seen)
	}
	var head ledger.Head
	r.do(call{who: "bob", method: "GET", path: "/head"}).is(200, &head)
	if head.Change != 2 || head.Digest != c.Digest {
		t.Fatalf("%+v", head)
	}
	r.do(call{who: "bob", method: "GET", path: "/changes/9"}).problem(404, ledger.NotFound)
}

func TestAuthorIsWhoTheTokenIsOf(t *testing.T) {
	r := newRig(t)
	r.do(call{who: "alice", method: "POST", path: "/changes", body: `{"author": "root", "edits": [{"content": ` +
		web("a", "a") + `}]}`}).problem(422, ledger.Invalid)
	var c ledger.Change
	r.change("alice", wire.Draft{Edits: []wire.Edit{editFromContent("a", "a")},
		Hold: &wire.HoldBody{Why: "freeze"}}).is(201, &c)
	var o ledger.Object
	r.do(call{who: "bob", method: "GET", path: path("a")}).is(200, &o)
	if c.Author != "alice" || o.Author != "alice" || o.Hold == nil || o.Hold.By != "alice" || o.Hold.Why != "freeze" {
		t.Fatalf("%+v %+v", c, o)
	}
	p := r.do(call{who: "alice", method: "DELETE", path: path("a"), header: ifMatch("*")}).problem(409, ledger.Held)
	if !strings.Contains(p.Detail, "alice") || p.Fix == "" {
		t.Fatalf("%+v", p)
	}
}

// A verb that a caller states gives no permission: undoing needs less than writing, but only for what is an undo.
func TestStatedVerbGivesNoPermission(t *testing.T) {
	r := newRig(t)
	r.create("a", "a.example")
	r.do(call{who: "root", method: "PUT", path: "/grants/carol", body: ledger.Grant{Name: "carol",
		Subjects: []string{"carol"}, Permissions: []ledger.Permission{ledger.MayRead, ledger.MayRollback}}}).is(204, nil)
	remove := wire.Edit{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: "shop", Name: "a", Delete: true}
	for _, e := range []wire.Edit{editFromContent("a", "evil.example"), remove} {
		r.change("carol", wire.Draft{Edits: []wire.Edit{e}}).problem(403, ledger.Denied)
		r.change("carol", wire.Draft{Edits: []wire.Edit{e, editFromContent("b", "b")}, Verb: ledger.Undo, Of: 1}).
			problem(422, ledger.Invalid)
	}
	r.do(call{who: "carol", method: "POST", path: "/changes/1/undo", body: `{}`}).is(201, nil)
}

func TestRepeatedRequestIsOneChange(t *testing.T) {
	r := newRig(t)
	once := map[string]string{"Idempotency-Key": "k1"}
	post := call{who: "alice", method: "POST", path: "/changes", body: wire.Draft{Edits: []wire.Edit{editFromContent("a",
		"a")}},
		header: once}
	var first, again ledger.Change
	r.do(post).is(201, &first)
	r.create("b", "b")
	r.do(post).is(200, &again)
	if first.Number != 1 || again.Number != 1 || !again.Repeated {
		t.Fatalf("%+v %+v", first, again)
	}
	// A PUT whose answer was lost: its precondition does not hold any more, but it is the same request.
	put := call{who: "alice", method: "PUT", path: path("a"), body: web("a", "b"),
		header: map[string]string{"If-Match": `"1"`, "Idempotency-Key": "k2"}}
	r.do(put).is(201, &first)
	if a := r.do(put).is(200, &again); again.Number != first.Number || a.Header.Get("ETag") != `"2"` {
		t.Fatalf("%+v %v", again, a.Header)
	}
	put.body = web("a", "another") // the same key for another wish
	r.do(put).problem(409, ledger.Conflict)
	put.body = web("a", "b")
	put.header["Idempotency-Key"] = "k3"
	r.do(put).problem(412, ledger.Stale)
	put.header["If-Match"], put.path, put.body = "*", path("none"), web("none", "b")
	r.do(put).problem(412, ledger.Stale)
	// DELETE, and undo.
	del := call{who: "alice", method: "DELETE", path: path("a"),
		header: map[string]string{"If-Match": `"2"`, "Idempotency-Key": "k4"}}
	r.do(del).is(201, &first)
	r.do(del).is(200, &again)
	patch := call{who: "alice", method: "PATCH", path: path("b"), body: `{"spec": {"hostnames": ["z"]}}`,
		header: map[string]string{"If-Match": "*", "Idempotency-Key": "k6", "Content-Type": "application/merge-patch+json"}}
	var patched ledger.Change
	r.do(patch).is(201, &patched)
	r.do(patch).is(200, &again)
	if again.Number != patched.Number {
		t.Fatalf("%+v %+v", patched, again)
	}
	patch.path = path("other")
	r.do(patch).problem(409, ledger.Conflict)
	undo := call{who: "alice", method: "POST", path: fmt.Sprintf("/changes/%d/undo", first.Number), body: `{}`,
		header: map[string]string{"Idempotency-Key": "k5"}}
	r.do(undo).is(201, &first)
	r.do(undo).is(200, &again)
	if again.Number != first.Number || !again.Repeated {
		t.Fatalf("%+v %+v", first, again)
	}
}

func TestListIsPinnedToAChangeWhileEditsGoOn(t *testing.T) {
	r := newRig(t)
	var d wire.Draft
	for i := range 25 {
		d.Edits = append(d.Edits, editFromContent(fmt.Sprintf("r%02d", i), "old.example"))
	}
	r.change("alice", d).is(201, nil)
	list := "/targets/default/objects?limit=10&contents=true&kind=" + route
	var names []string
	cursor := ""
	for page := 0; ; page++ {
		var p wire.ObjectPage
		r.do(call{who: "bob", method: "GET", path: list + cursor}).is(200, &p)
		for _, o := range p.Objects.Objects {
			names = append(names, o.Name)
			if !strings.Contains(string(o.Content), "old.example") {
				t.Errorf("page %d shows %s", page, o.Content)
			}
		}
		if p.At != 1 {
			t.Fatalf("page %d is of change %d", page, p.At)
		}
		if p.Next == "" {
			break
		}
		cursor = "&cursor=" + url.QueryEscape(p.Next)
		// Between two pages, an object that is to come is edited, one is deleted, and one is made.
		r.change("alice", wire.Draft{Edits: []wire.Edit{editFromContent(fmt.Sprintf("r%02d", 24-page), "new.example"),
			{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: "shop", Name: fmt.Sprintf("r%02d", 20-page),
				Delete: true}, editFromContent(fmt.Sprintf("r%02dx", 15+page), "new.example")}}).is(201, nil)
	}
	if len(names) != 25 {
		t.Fatalf("%d objects were listed: %v", len(names), names)
	}
	for i, name := range names {
		if name != fmt.Sprintf("r%02d", i) {
			t.Fatalf("%v", names)
		}
	}
	for _, bad := range []string{"nonsense", "e30", strings.TrimPrefix(cursor, "&cursor=") + "AA"} {
		r.do(call{who: "bob", method: "GET", path: list + "&cursor=" + bad}).problem(422, ledger.Invalid)
	}
	p := r.do(call{who: "bob", method: "GET", path: "/targets/default/objects?namespace=other" + cursor}).
		problem(422, ledger.Invalid)
	if p.Field != "cursor" {
		t.Fatalf("%+v", p)
	}
}

func TestListsLeaveOutWhatMayNotBeRead(t *testing.T) {
	r := newRig(t)
	other := strings.ReplaceAll(web("b", "b"), `"namespace": "shop"`, `"namespace": "bank"`)
	r.change("alice", wire.Draft{Message: "both", Edits: []wire.Edit{editFromContent("a", "a"),
		{Content: ledger.Content(other)}}}).
		is(201, nil)
	r.change("alice", wire.Draft{Message: "takeover of the bank", Edits: []wire.Edit{{Content: ledger.Content(
		strings.ReplaceAll(other, `["b"]`, `["c"]`))}}}).is(201, nil)
	var p wire.ObjectPage
	r.do(call{who: "bob", method: "GET", path: "/targets/default/objects"}).is(200, &p)
	if len(p.Objects.Objects) != 1 || p.Objects.Objects[0].Name != "a" {
		t.Fatalf("%+v", p)
	}
	r.do(call{who: "carol", method: "GET", path: "/targets/default/objects"}).is(200, &p)
	if len(p.Objects.Objects) != 0 {
		t.Fatalf("%+v", p)
	}
	var changes wire.ChangePage
	a := r.do(call{who: "bob", method: "GET", path: "/changes?oldest=true"}).is(200, &changes)
	if c := changes.Changes; len(c) != 2 || len(c[0].Edited) != 1 || c[0].Hidden != 1 || c[0].Message != "both" ||
		c[1].Number != 2 || len(c[1].Edited) != 0 || c[1].Hidden != 1 || strings.Contains(string(a.body), "takeover") {
		t.Fatalf("%s", a.body)
	}
	var status struct{ Objects []ledger.Status }
	r.do(call{who: "bob", method: "GET", path: "/status"}).is(200, &status)
	if len(status.Objects) != 1 {
		t.Fatalf("%+v", status)
	}
	list, err := r.store.Denials(context.Background(), ledger.Page{})
	if err != nil || len(list) != 0 {
		t.Fatalf("%+v, %v: lists are no attempts", list, err)
	}
}

func TestChangesArePagedAndFiltered(t *testing.T) {
	r := newRig(t)
	for i := range 5 {
		r.create(fmt.Sprint("r", i), "a")
	}
	r.change("root", wire.Draft{Edits: []wire.Edit{editFromContent("r1", "b")}}).is(201, nil)
	numbers := func(query string) (list []int64) {
		t.Helper()
		var p wire.ChangePage
		r.do(call{who: "bob", method: "GET", path: "/changes" + query}).is(200, &p)
		for _, c := range p.Changes {
			list = append(list, c.Number)
		}
		if p.More {
			list = append(list, -p.Next)
		}
		return list
	}
	for query, want := range map[string]string{
		"?limit=2": "[6 5 -5]", "?limit=2&after=5": "[4 3 -3]", "?oldest=true&limit=3": "[1 2 3 -3]",
		"?oldest=true&after=4": "[5 6]", "?author=root": "[6]", "?kind=" + route + "&namespace=shop&name=r1": "[6 2]",
	} {
		if got := fmt.Sprint(numbers(query)); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

func TestUndoMakesAChangeOrNamesWhatStandsInTheWay(t *testing.T) {
	r := newRig(t)
	r.create("a", "old.example")
	r.change("alice", wire.Draft{Message: "oops", Edits: []wire.Edit{editFromContent("a", "new.example"),
		editFromContent("b", "b")}}).
		is(201, nil)
	r.change("alice", wire.Draft{Edits: []wire.Edit{editFromContent("b", "c")}}).is(201, nil)
	p := r.do(call{who: "alice", method: "POST", path: "/changes/2/undo", body: `{}`}).problem(409, ledger.Conflict)
	if fmt.Sprint(p.Later) != "[3]" || p.Object != "HTTPRoute shop/b" {
		t.Fatalf("%+v", p)
	}
	var c ledger.Change
	r.do(call{who: "alice", method: "POST", path: "/changes/3/undo", body: `{}`}).is(201, nil)
	r.do(call{who: "alice", method: "POST", path: "/changes/2/undo", body: `{"dryRun": true}`}).is(200, &c)
	if c.Number != 0 || len(c.Edited) != 2 {
		t.Fatalf("%+v", c)
	}
	r.do(call{who: "alice", method: "POST", path: "/changes/2/undo", body: `{"message": "back"}`}).is(201, &c)
	if c.Number != 5 || c.Verb != ledger.Undo || c.Of != 2 || c.Message != "back" || c.Author != "alice" {
		t.Fatalf("%+v", c)
	}
	var o ledger.Object
	r.do(call{who: "bob", method: "GET", path: path("a")}).is(200, &o)
	if o.Generation != 3 || o.Revision != 1 {
		t.Fatalf("%+v", o)
	}
	r.do(call{who: "bob", method: "GET", path: path("b")}).problem(404, ledger.NotFound)
	r.do(call{who: "alice", method: "POST", path: "/changes/99/undo", body: `{}`}).problem(404, ledger.NotFound)
}

func object(apiVersion, kind, namespace, name, rest string) wire.Edit {
	return wire.Edit{Content: ledger.Content(fmt.Sprintf(`{"apiVersion": %q, "kind": %q,
		"metadata": {"name": %q, "namespace": %q} %s}`, apiVersion, kind, name, namespace, rest))}
}

func TestGatewayGoesBackWithWhatBelongsToIt(t *testing.T) {
	const v1 = "gateway.networking.k8s.io/v1"
	r := newRig(t)
	secret := func(value string) wire.Edit {
		return object("v1", "Secret", "shop", "cert", `, "stringData": {"tls.crt": "`+value+`"}`)
	}
	routed := func(namespace, name, host string) wire.Edit { // to what both Gateways use
		return object(v1, "HTTPRoute", namespace, name, fmt.Sprintf(`, "spec": {"hostnames": [%q],
			"parentRefs": [{"name": "gw"}], "rules": [{"backendRefs": [{"name": "shared", "namespace": "other"}]}]}`, host))
	}
	r.change("alice", wire.Draft{Edits: []wire.Edit{object(v1, "Gateway", "shop", "gw", `, "spec": {"v": 1}`),
		object(v1, "Gateway", "bank", "gw", ""), routed("bank", "web", "bank.example"), routed("shop", "a", "old.example"),
		secret("expired"), object("v1", "Service", "other", "shared", `, "spec": {"v": 1}`)}}).is(201, nil)
	r.change("alice", wire.Draft{Edits: []wire.Edit{object(v1, "Gateway", "shop", "gw", `, "spec": {"v": 2}`),
		routed("shop", "a", "new.example"), routed("shop", "b", "b.example"), secret("fresh")}}).is(201, nil)
	back := func(body string) call {
		return call{who: "alice", method: "POST", path: "/gateways/shop/gw/rollback", body: body}
	}
	var c ledger.Change
	r.do(back(`{"to": 1, "message": "as on Tuesday", "hold": {"why": "incident"}}`)).is(201, &c)
	var did []string
	for _, e := range c.Edited {
		did = append(did, e.Key.String()+" "+e.ActionWord())
	}
	const all = "Gateway shop/gw changed, HTTPRoute shop/a changed, HTTPRoute shop/b deleted"
	if got := strings.Join(did, ", "); got != all || c.Verb != ledger.Rollback || c.Of != 1 {
		t.Fatalf("%s %+v", got, c)
	}
	r.do(call{who: "alice", method: "PUT", path: path("a"), body: web("a", "x"), header: ifMatch("*")}).
		problem(409, ledger.Held)
	// What another Gateway uses, too, goes back only if that is said.
	r.change("alice", wire.Draft{Edits: []wire.Edit{object("v1", "Service", "other", "shared", `, "spec": {"v": 2}`)}}).
		is(201, nil)
	p := r.do(back(`{"to": 1}`)).problem(409, ledger.Conflict)
	if p.Object != "Service other/shared" || p.Field != "shared" {
		t.Fatalf("%+v", p)
	}
	once := back(`{"to": 1, "shared": true}`)
	once.header = map[string]string{"Idempotency-Key": "once"}
	r.do(once).is(201, &c)
	first := c.Number
	r.change("alice", wire.Draft{Edits: []wire.Edit{routed("shop", "b", "later.example")}}).problem(409, ledger.Held)
	r.change("alice", wire.Draft{Edits: []wire.Edit{routed("shop", "b", "later.example")}, Release: true}).is(201, nil)
	if r.do(once).is(200, &c); c.Number != first || !c.Repeated {
		t.Fatalf("%+v", c)
	}
	r.do(back(`{"to": 1, "shared": true, "release": true}`)).is(201, &c)
	r.do(back(`{"to": 1, "shared": true}`)).is(200, &c)
	if c.Number != 0 {
		t.Fatalf("all is so already: %+v", c)
	}
	r.do(back(`{"to": 99}`)).problem(404, ledger.NotFound)
	r.do(back(`{"to": 0}`)).problem(422, ledger.Invalid)
}

// admit refuses hosts named bad, and defaults a field.
type admit struct{}

func (admit) Admit(_ context.Context, d ledger.Draft) (ledger.Draft, error) {
	for i, e := range d.Edits {
		if strings.Contains(string(e.Content), "bad") {
			return d, &ledger.Error{Code: ledger.Invalid, Object: e.Key.String(), Field: "spec.hostnames[0]",
				Message: "is bad", Fix: "name a good one"}
		}
		object, err := e.Content.DecodeObject()
		if err != nil {
			return d, err
		}
		object["spec"].(map[string]any)["defaulted"] = true
		_, d.Edits[i].Content, err = ledger.ContentOf(e.Target, object)
		if err != nil {
			return d, err
		}
	}
	return d, nil
}

func TestObjectsAreAdmittedBeforeTheyAreCommitted(t *testing.T) {
	r := newRig(t, func(c *rest.Config) { c.Admit = admit{} })
	p := r.do(call{who: "alice", method: "PUT", path: path("a"), body: web("a", "bad.example"),
		header: map[string]string{"If-None-Match": "*"}}).problem(422, ledger.Invalid)
	if p.Object != "HTTPRoute shop/a" || p.Field != "spec.hostnames[0]" || p.Fix != "name a good one" {
		t.Fatalf("%+v", p)
	}
	r.create("a", "good.example")
	var o ledger.Object
	r.do(call{who: "bob", method: "GET", path: path("a")}).is(200, &o)
	if !strings.Contains(string(o.Content), `"defaulted":true`) {
		t.Fatalf("%s", o.Content)
	}
}

// requestInfo is the one Cardea that a server asks for previews. It tells each draft's hosts.
type requestInfo struct {
	silent string // why it can't be asked
	before func() // called before each answer
}

func (a *requestInfo) previews(l ledger.Ledger) *ledgerpreview.Previewer {
	return &ledgerpreview.Previewer{Ledger: l, IsRead: func(k ledger.Key) bool { return k.Kind == "HTTPRoute" },
		CardeasOf: func(context.Context, string) ([]ledgerpreview.CardeaAdmin, error) {
			if a.silent != "" {
				return []ledgerpreview.CardeaAdmin{{Cluster: "east", Why: a.silent}}, nil
			}
			return []ledgerpreview.CardeaAdmin{{Cluster: "east", Diff: func(_ context.Context, e diff.Edit) (r diff.Report,
				err error) {
				if a.before != nil {
					a.before()
				}
				for _, o := range e.Objects {
					r.Objects = append(r.Objects, fmt.Sprint(o["spec"]))
				}
				return r, nil
			}}}, nil
		}}
}

func TestChangeIsBoundToItsPreview(t *testing.T) {
	p := &requestInfo{}
	r := newRig(t, func(c *rest.Config) { c.Preview = p.previews(c.Ledger) })
	d := wire.Draft{Edits: []wire.Edit{editFromContent("a", "a.example")}}
	var first wire.Preview
	r.do(call{who: "alice", method: "POST", path: "/preview", body: d}).is(200, &first)
	if first.Digest == "" || len(first.Clusters) != 1 || string(first.Clusters[0].Report) == "" {
		t.Fatalf("%+v", first)
	}
	r.create("a", "other.example") // what the preview was about is another now
	d.IfPreview = first.Digest
	problem := r.change("alice", d).problem(409, ledger.Conflict)
	if problem.Preview == nil || problem.Preview.Digest == first.Digest || problem.Field != "ifPreview" {
		t.Fatalf("%+v", problem)
	}
	// A change in between that does not touch the outcome has it previewed again, and then committed.
	d.IfPreview = problem.Preview.Digest
	others := 0
	another := func() { // somebody else's change, of an object that does not matter here
		name := fmt.Sprint("s", others)
		_, err := r.store.Commit(context.Background(), ledger.Draft{Author: "carol", Edits: []ledger.Edit{{Key: ledger.Key{
			Target: "default", Kind: "Service", Namespace: "shop", Name: name}, Content: ledger.Content(fmt.Sprintf(
			`{"apiVersion":"v1","kind":"Service","metadata":{"name":%q,"namespace":"shop"}}`, name))}}})
		if err != nil {
			t.Error(err)
		}
	}
	p.before = func() {
		if others++; others <= 2 {
			another()
		}
	}
	r.change("alice", d).is(201, nil)
	if others != 3 {
		t.Fatalf("it was previewed %d times", others)
	}
	// A repeat after a lost answer is the same change, though its preview and the head are others by now.
	p.before = nil
	bound := call{who: "alice", method: "POST", path: "/changes", header: map[string]string{"Idempotency-Key": "once"}}
	var ticket wire.Preview
	d = wire.Draft{Edits: []wire.Edit{editFromContent("a", "again.example")}}
	r.do(call{who: "alice", method: "POST", path: "/preview", body: d}).is(200, &ticket)
	d.IfPreview = ticket.Digest
	bound.body = d
	var made, again ledger.Change
	r.do(bound).is(201, &made)
	r.do(bound).is(200, &again)
	if again.Number != made.Number || !again.Repeated {
		t.Fatalf("%+v %+v", made, again)
	}
	// If changes in between do not end, the change is refused.
	p.before = func() {
		others++
		another()
	}
	var now wire.Preview
	r.do(call{who: "alice", method: "POST", path: "/preview", body: wire.Draft{Edits: []wire.Edit{editFromContent("a",
		"z")}}}).
		is(200, &now)
	r.change("alice", wire.Draft{Edits: []wire.Edit{editFromContent("a", "z")}, IfPreview: now.Digest}).problem(409,
		ledger.Conflict)
	// A cluster that can't be asked leaves the outcome open.
	p.before, p.silent = nil, "no admin address"
	if q := r.change("alice", d).problem(409, ledger.NotAsked); !strings.Contains(q.Object+q.Detail, "east") {
		t.Fatalf("%+v", q)
	}
	r.do(call{who: "bob", method: "POST", path: "/preview", body: d}).problem(403, ledger.Denied)
}

func TestPreviewIsNotAskedWithoutProxies(t *testing.T) {
	r := newRig(t)
	d := wire.Draft{Edits: []wire.Edit{editFromContent("a", "a.example")}}
	r.do(call{who: "alice", method: "POST", path: "/preview", body: d}).problem(409, ledger.NotAsked)
	d.IfPreview = "x"
	r.change("alice", d).problem(409, ledger.NotAsked)
}
