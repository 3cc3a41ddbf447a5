package rest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
)

// What GET answers can be sent back by PUT: an object with everything that is told of it, an entry of a list.
func TestWhatGetAnswersCanBePut(t *testing.T) {
	r := newRig(t)
	r.create("web", "a.example")
	got := r.do(call{who: "alice", path: path("web")})
	got.is(200, nil)
	put := call{who: "alice", method: "PUT", path: path("web"), body: string(got.body),
		header: map[string]string{"If-Match": got.Header.Get("ETag")}}
	var same, changed ledger.Change
	r.do(put).is(200, &same)
	put.body = strings.ReplaceAll(string(got.body), "a.example", "b.example")
	r.do(put).is(201, &changed)
	if len(same.Edited) != 0 || len(changed.Edited) != 1 {
		t.Errorf("%+v %+v", same, changed)
	}
	var is ledger.Object
	r.do(call{who: "alice", path: path("web")}).is(200, &is)
	if !strings.Contains(string(is.Content), "b.example") || strings.Contains(string(is.Content), `"target"`) {
		t.Errorf("%s", is.Content)
	}
	// A kind of somebody's with a member content is itself, and another object than the path's is refused.
	own := `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "shop"}, "content": {}}`
	if p := r.do(call{who: "alice", method: "PUT", path: path("web"), body: own,
		header: map[string]string{"If-Match": "*"}}).problem(422, ledger.Invalid); p.Field != "apiVersion" {
		t.Errorf("%+v", p)
	}
	other := path("other")
	r.do(call{who: "alice", method: "PUT", path: other, body: string(got.body),
		header: map[string]string{"If-None-Match": "*"}}).problem(422, ledger.Invalid)

	for what, set := range map[string]string{
		"targets":  `{"name": "prod", "server": "Clusters", "clusters": {"env": "prod"}, "approvals": 1}`,
		"clusters": `{"name": "west", "labels": {"env": "prod"}, "admin": "http://127.0.0.1:9900"}`,
		"grants":   `{"name": "g", "subjects": ["bob"], "permissions": ["read"], "namespaces": ["shop"]}`,
	} {
		var name struct{ Name string }
		r.ok(json.Unmarshal([]byte(set), &name))
		put := func(body string) {
			r.do(call{who: "root", method: "PUT", path: fmt.Sprintf("/%s/%s", what, name.Name), body: body}).is(204, nil)
		}
		put(set)
		list := func() string {
			var all map[string][]json.RawMessage
			r.do(call{who: "root", path: "/" + what}).is(200, &all)
			for _, one := range all[what] {
				if strings.Contains(string(one), `"name":"`+name.Name+`"`) {
					return string(one)
				}
			}
			t.Fatalf("%s has no %s", what, name.Name)
			return ""
		}
		before := list()
		put(before)
		if after := list(); after != before {
			t.Errorf("%s after\n%s, before\n%s", what, after, before)
		}
	}
}

// An error about a member that there is not names those that there are.
func TestErrorsNameTheMembersThatAreExpected(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ method, path, body, fix string }{
		{"POST", "/changes", `{"changes": []}`, "back, deletions, dryRun, edits, head"},
		{"POST", "/changes", `{"edits": [{"object": {}}]}`, "content, delete, expect, group, kind, name"},
		{"POST", "/changes", `{"edits": [], "hold": {"reason": "x"}}`, "until, why"},
		{"PUT", "/targets/prod", `{"name": "prod", "server": "Clusters", "labels": {}}`, "approvals, clusters, drift"},
		{"GET", "/changes?autor=alice", ``, "author"},
		{"GET", "/head?a.b=c", ``, "nothing can be stated there"},
		{"PUT", path("web"), `{"spec": {}}`, "apiVersion, kind, metadata with its name"},
	} {
		h := map[string]string{}
		if c.path == path("web") {
			h["If-None-Match"] = "*"
		}
		p := r.do(call{who: "root", method: c.method, path: c.path, body: c.body, header: h}).problem(422, ledger.Invalid)
		if !strings.Contains(p.Fix, c.fix) {
			t.Errorf("%s %s %s: %+v", c.method, c.path, c.body, p)
		}
	}
}
