package rest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

func TestObjectFromCreationToDeletion(t *testing.T) {
	r := newRig(t)
	made := r.do(call{who: "alice", method: "PUT", path: path("web") + "?message=first", body: web("web", "a.example"),
		header: map[string]string{"If-None-Match": "*"}})
	var c ledger.Change
	made.is(201, &c)
	if c.Number != 1 || c.Author != "alice" || c.Message != "first" || made.Header.Get("ETag") != `"1"` ||
		made.Header.Get("Location") != "/ledger/v1/changes/1" {
		t.Fatalf("%+v %v", c, made.Header)
	}
	r.do(call{who: "alice", method: "PUT", path: path("web"), body: web("web", "b.example"), header: ifMatch(`"1"`)}).
		is(201, nil)
	patched := r.do(call{who: "alice", method: "PATCH", path: path("web"),
		body:   `{"spec": {"hostnames": ["c.example"], "parentRefs": [{"name": "gw"}]}, "metadata": {"labels": {"a": "b"}}}`,
		header: map[string]string{"If-Match": `"2"`, "Content-Type": "application/merge-patch+json"}}).is(201, nil)
	if patched.Header.Get("ETag") != `"3"` {
		t.Fatal(patched.Header)
	}
	var o ledger.Object
	got := r.do(call{who: "bob", method: "GET", path: path("web")}).is(200, &o)
	if got.Header.Get("ETag") != `"3"` || o.Generation != 3 || o.Revision != 3 ||
		!strings.Contains(string(o.Content), `"c.example"`) || !strings.Contains(string(o.Content), `"labels":{"a":"b"}`) {
		t.Fatalf("%s", got.body)
	}
	r.do(call{who: "bob", method: "GET", path: path("web") + "?at=1"}).is(200, &o)
	if o.Generation != 1 || !strings.Contains(string(o.Content), "a.example") {
		t.Fatalf("at change 1 it was %+v", o)
	}
	// The same content again is no change.
	same := json.RawMessage(got.content(t))
	r.do(call{who: "alice", method: "PUT", path: path("web"), body: same, header: ifMatch("*")}).is(200, &c)
	if c.Number != 0 || len(c.Unchanged) != 1 {
		t.Fatalf("%+v", c)
	}
	r.do(call{who: "alice", method: "DELETE", path: path("web"), header: ifMatch(`"3"`)}).is(201, &c)
	if c.Verb != ledger.Delete || c.Edited[0].ActionWord() != "deleted" {
		t.Fatalf("%+v", c)
	}
	p := r.do(call{who: "bob", method: "GET", path: path("web")}).problem(404, ledger.NotFound)
	if !strings.Contains(p.Detail, "deleted by change 4") || !strings.Contains(p.Fix, "at=3") {
		t.Fatalf("%+v", p)
	}
	var h wire.History
	r.do(call{who: "bob", method: "GET", path: path("web") + "/history"}).is(200, &h)
	if len(h.Generations) != 4 || h.Generations[0].Generation != 4 || h.Generations[3].Message != "first" {
		t.Fatalf("%+v", h)
	}
	// Created anew, it goes on counting.
	if c := r.create("web", "d.example"); c.Edited[0].Generation != 5 {
		t.Fatalf("%+v", c)
	}
}

func (a answer) content(t *testing.T) string {
	var o ledger.Object
	if err := json.Unmarshal(a.body, &o); err != nil {
		t.Fatal(err)
	}
	return string(o.Content)
}

func TestWriteWithoutPreconditionIs428(t *testing.T) {
	r := newRig(t)
	for _, c := range []call{
		{method: "PUT", body: web("web", "a.example")},
		{method: "PATCH", body: `{}`, header: map[string]string{"Content-Type": "application/merge-patch+json"}},
		{method: "DELETE"},
	} {
		c.who, c.path = "alice", path("web")
		if p := r.do(c).problem(428, ledger.Invalid); !strings.Contains(p.Fix, "If-Match") {
			t.Fatalf("%+v", p)
		}
	}
}

func TestStaleWriteIs412WithTheCurrentETag(t *testing.T) {
	r := newRig(t)
	r.create("web", "a.example")
	put := call{who: "alice", method: "PUT", path: path("web"), body: web("web", "b.example"), header: ifMatch(`"1"`)}
	r.do(put).is(201, nil)
	put.body = web("web", "c.example")
	a := r.do(put)
	p := a.problem(412, ledger.Stale)
	if a.Header.Get("ETag") != `"2"` || p.Have != 2 || p.Object != "HTTPRoute shop/web" || p.Fix == "" {
		t.Fatalf("%v %+v", a.Header, p)
	}
	put.header = map[string]string{"If-None-Match": "*"}
	if a := r.do(put); a.problem(412, ledger.Exists).Have != 2 || a.Header.Get("ETag") != `"2"` {
		t.Fatalf("%v", a.Header)
	}
	put.header, put.path, put.body = ifMatch("*"), path("none"), web("none", "a.example")
	r.do(put).problem(412, ledger.Stale)
	put.header = ifMatch(`3`)
	r.do(put).problem(422, ledger.Invalid)
	put.header = ifMatch(`W/"3"`)
	r.do(put).problem(422, ledger.Invalid)
	put.header = map[string]string{"If-Match": `"1"`, "If-None-Match": "*"}
	r.do(put).problem(422, ledger.Invalid)
}

func TestOfManyWritersWithOneETagOneWins(t *testing.T) {
	r := newRig(t)
	r.create("web", "a.example")
	const writers = 200
	statuses := make([]int, writers)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			statuses[i] = r.do(call{who: "alice", method: "PUT", path: path("web"),
				body: web("web", fmt.Sprintf("h%d.example", i)), header: ifMatch(`"1"`)}).StatusCode
		})
	}
	all.Wait()
	count := map[int]int{}
	for _, status := range statuses {
		count[status]++
	}
	if count[201] != 1 || count[412] != writers-1 {
		t.Fatalf("%v", count)
	}
}

func TestUnchangedObjectIs304(t *testing.T) {
	r := newRig(t)
	r.create("web", "a.example")
	for tag, status := range map[string]int{`"1"`: 304, `W/"1"`: 304, `"7", "1"`: 304, `*`: 304, `"2"`: 200} {
		a := r.do(call{who: "bob", method: "GET", path: path("web"), header: map[string]string{"If-None-Match": tag}})
		if a.StatusCode != status || a.Header.Get("ETag") != `"1"` || status == 304 && len(a.body) > 0 {
			t.Errorf("%s: %d %s", tag, a.StatusCode, a.body)
		}
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	r := newRig(t)
	var c ledger.Change
	a := r.do(call{who: "alice", method: "PUT", path: path("web") + "?dryRun=true", body: web("web", "a.example"),
		header: map[string]string{"If-None-Match": "*"}}).is(200, &c)
	if c.Number != 0 || len(c.Edited) != 1 || a.Header.Get("ETag") != "" || a.Header.Get("Location") != "" {
		t.Fatalf("%+v %v", c, a.Header)
	}
	r.do(call{who: "bob", method: "GET", path: path("web")}).problem(404, ledger.NotFound)
}

func TestContentOfAnotherObjectIsRefused(t *testing.T) {
	r := newRig(t)
	for _, body := range []string{web("other", "a.example"), `{"apiVersion": "v1", "kind": "HTTPRoute",
		"metadata": {"name": "web", "namespace": "shop"}}`, `{"kind": "HTTPRoute", "metadata": {"name": "web"}}`,
		`{"metadata": {}}`, `{}`, `null`, `[]`, `"x"`} {
		a := r.do(call{who: "alice", method: "PUT", path: path("web"), body: body,
			header: map[string]string{"If-None-Match": "*"}})
		a.problem(422, ledger.Invalid)
	}
}

func TestObjectWithoutNamespaceAndCoreKind(t *testing.T) {
	r := newRig(t)
	put := func(p, body string) {
		t.Helper()
		r.do(call{who: "alice", method: "PUT", path: p, body: body, header: map[string]string{"If-None-Match": "*"}}).
			is(201, nil)
		r.do(call{who: "alice", method: "GET", path: p}).is(200, nil)
	}
	put("/targets/default/objects/Namespace/-/shop", `{"apiVersion": "v1", "kind": "Namespace",
		"metadata": {"name": "shop"}}`)
	put("/targets/default/objects/GatewayClass.gateway.networking.k8s.io/-/cardea", `{"kind": "GatewayClass",
		"apiVersion": "gateway.networking.k8s.io/v1", "metadata": {"name": "cardea"}, "spec": {"controllerName": "a/b"}}`)
}

func TestNumbersKeepTheirDigits(t *testing.T) {
	r := newRig(t)
	body := `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "n", "namespace": "shop"},
		"spec": {"big": 9007199254740993, "half": 0.5}}`
	p := "/targets/default/objects/Service/shop/n"
	r.do(call{who: "alice", method: "PUT", path: p, body: body, header: map[string]string{"If-None-Match": "*"}}).
		is(201, nil)
	r.do(call{who: "alice", method: "PATCH", path: p, body: `{"metadata": {"labels": {"a": "b"}}}`,
		header: map[string]string{"If-Match": `"1"`, "Content-Type": "application/merge-patch+json"}}).is(201, nil)
	if got := string(r.do(call{who: "alice", method: "GET", path: p}).body); !strings.Contains(got, "9007199254740993") {
		t.Fatal(got)
	}
}
