package rest_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/ledger/wire"
)

func TestWhatIsNotKeptAnyMoreIs410(t *testing.T) {
	r := newRig(t)
	r.create("web", "a.example")
	for _, host := range []string{"b.example", "c.example", "d.example"} {
		r.change("alice", wire.Draft{Edits: []wire.Edit{editFromContent("web", host)}}).is(201, nil)
	}
	r.ok(r.store.Compact(context.Background(), store.Retention{Age: time.Nanosecond}))
	for _, c := range []call{
		{method: "GET", path: path("web") + "?at=1"},
		{method: "GET", path: "/targets/default/objects?at=1"},
		{method: "POST", path: "/objects/query", body: `{"at": 1}`},
		{method: "GET", path: "/changes/1"},
		{method: "GET", path: "/changes/1/status"},
		{method: "POST", path: "/changes/1/undo", body: `{}`},
		{method: "GET", path: "/changes?oldest=true&after=1"},
	} {
		c.who = "alice"
		if p := r.do(c).problem(410, ledger.Compacted); p.Fix == "" {
			t.Errorf("%s: %+v", c.path, p)
		}
	}
	s := r.watch("bob", "?from=1", "")
	text, err := io.ReadAll(s.Body)
	r.ok(err)
	if s.StatusCode != 410 || !strings.Contains(string(text), "Compacted") {
		t.Fatalf("%s %s", s.Status, text)
	}
	var head ledger.Head
	r.do(call{who: "bob", method: "GET", path: "/head"}).is(200, &head)
	if head.Compacted == 0 || head.Change != 4 {
		t.Fatalf("%+v", head)
	}
	r.do(call{who: "bob", method: "GET", path: path("web")}).is(200, nil)
	// A program that reads the ledger is told what is known of it.
	r.do(call{who: "alice", method: "PUT", path: secretPath, body: secret(`"stringData": {"a": "1"}`),
		header: map[string]string{"If-None-Match": "*"}}).is(201, nil)
	for i := range 4 {
		body := secret(fmt.Sprintf(`"stringData": {"a": "x%d"}`, i))
		r.do(call{who: "alice", method: "PUT", path: secretPath, body: body, header: ifMatch("*")}).is(201, nil)
	}
	r.ok(r.store.Compact(context.Background(), store.Retention{Secrets: 1}))
	r.do(call{who: "alice", method: "GET", path: secretPath + "?at=5"}).problem(410, ledger.Compacted)
	var o ledger.Object
	r.do(call{who: "alice", method: "GET", path: secretPath + "?at=5&deleted=true"}).is(200, &o)
	if !o.Forgotten || o.Generation != 1 || len(o.Content) != 0 {
		t.Fatalf("%+v", o)
	}
}
