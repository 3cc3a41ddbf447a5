package rest_test

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/auth"
	"cardea.dev/cardea/internal/ledger/rest"
)

func TestTooLargeIs413(t *testing.T) {
	r := newRig(t)
	put := call{who: "alice", method: "PUT", path: path("web"), body: strings.Repeat(" ", ledger.MaxBytes+1),
		header: map[string]string{"If-None-Match": "*"}}
	if p := r.do(put).problem(413, ledger.TooLarge); p.Fix == "" {
		t.Fatalf("%+v", p)
	}
	// A body that does not say how long it is counts as it comes.
	q, err := http.NewRequest("PUT", r.server.URL+rest.Prefix+path("web"), &endless{left: ledger.MaxBytes + 2})
	r.ok(err)
	q.Header.Set("Authorization", "Bearer "+r.tokens["alice"])
	q.Header.Set("If-None-Match", "*")
	a, err := r.client.Do(q)
	r.ok(err)
	a.Body.Close()
	if a.StatusCode != 413 {
		t.Fatal(a.Status)
	}
	edits := strings.Repeat(`{"kind": "Service", "name": "a", "delete": true},`, ledger.MaxEdits+1)
	edits = `{"edits": [` + strings.TrimSuffix(edits, ",") + `]}`
	r.do(call{who: "alice", method: "POST", path: "/changes", body: edits}).problem(413, ledger.TooLarge)
}

// endless is a body of spaces.
type endless struct{ left int }

func (e *endless) Read(b []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(len(b), e.left)
	for i := range n {
		b[i] = ' '
	}
	e.left -= n
	return n, nil
}

func TestOtherMediaTypesAre415(t *testing.T) {
	r := newRig(t)
	r.create("web", "a.example")
	for _, c := range []struct{ method, kind string }{
		{"PUT", "application/yaml"}, {"PUT", "text/plain"}, {"PUT", "application/x+json"}, {"PATCH", "application/json"},
		{"PATCH", "application/json-patch+json"}, {"PATCH", "nonsense/"},
	} {
		p := r.do(call{who: "alice", method: c.method, path: path("web"), body: `{}`,
			header: map[string]string{"If-Match": `"1"`, "Content-Type": c.kind}}).problem(415, ledger.Invalid)
		if !strings.Contains(p.Fix, "json") {
			t.Errorf("%s: %+v", c.kind, p)
		}
	}
}

func TestWhatTheSchemaDoesNotAllowIs422(t *testing.T) {
	r := newRig(t)
	for body, field := range map[string]string{
		`{"edits": [{"kind": "A", "name": "a", "delete": true}], "unknown": 1}`: "unknown",
		`{"edits": "x"}`: "edits",
		`{}`:             "edits",
		`{"edits": [{"kind": "A", "name": "a", "delete": 1}]}`:        "edits[0].delete",
		`{"edits": [{"kind": "A", "name": "a", "what": 1}]}`:          "edits[0].what",
		`{"edits": [{"kind": "A", "name": "a"}]}`:                     "content",
		`{"edits": [{"delete": true}]}`:                               "kind",
		`{"edits": [{"content": []}]}`:                                "edits[0].content",
		`{"edits": [{"content": {}, "delete": true}]}`:                "content",
		`{"edits": [{"kind": "A", "name": "a", "expect": -1}]}`:       "edits[0].expect",
		`{"edits": [{"kind": "A", "name": "a", "revision": 1.5}]}`:    "edits[0].revision",
		`{"edits": [{"kind": "A", "name": "a"}], "verb": "nonsense"}`: "verb",
		`[]`:   "body",
		`null`: "body",
	} {
		p := r.do(call{who: "alice", method: "POST", path: "/changes", body: body}).problem(422, ledger.Invalid)
		if p.Field != field {
			t.Errorf("%s: the field is %q, want %q: %s", body, p.Field, field, p.Detail)
		}
	}
	r.do(call{who: "bob", method: "GET", path: "/changes?unknown=1"}).problem(422, ledger.Invalid)
	r.do(call{who: "bob", method: "GET", path: "/changes?limit=x"}).problem(422, ledger.Invalid)
	r.do(call{who: "bob", method: "GET", path: "/changes/x"}).problem(422, ledger.Invalid)
}

func TestMalformedJSONIs400WithItsPosition(t *testing.T) {
	r := newRig(t)
	for body, where := range map[string]string{
		"{\n  \"edits\": [,]\n}":             "line 2, column 13",
		`{"edits": [`:                        "line 1, column 11",
		`{"edits": []} {}`:                   "line 1, column 15",
		"{\"edits\": [\n{\"kind\": \"\xff\"": "line 2",
		`{"edits": [], "edits": []}`:         `"edits" comes twice`,
		`{"edits": [{"content": {"metadata": {"name": "a", "name": "b"}}}]}`: `"name" comes twice`,
	} {
		p := r.do(call{who: "alice", method: "POST", path: "/changes", body: body}).problem(400, ledger.Invalid)
		if !strings.Contains(p.Detail, where) {
			t.Errorf("%s: %q does not say %q", body, p.Detail, where)
		}
	}
	r.do(call{who: "alice", method: "POST", path: "/changes", body: ""}).problem(400, ledger.Invalid)
}

func TestAnyUserAgentIsTaken(t *testing.T) {
	r := newRig(t)
	var c ledger.Change
	r.do(call{who: "alice", method: "PUT", path: path("web"), body: web("web", "a"), header: map[string]string{
		"If-None-Match": "*", "User-Agent": "caf\xe9 " + strings.Repeat("\u00e9", 200)}}).is(201, &c)
	if !strings.HasPrefix(c.Via, "caf ") || len(c.Via) > 200 {
		t.Fatalf("%q", c.Via)
	}
}

func TestErrorsDoNotRepeatTheRequest(t *testing.T) {
	r := newRig(t)
	for _, body := range []string{`{"edits": [{"content": {"data": "hunter2"}}`, `{"edits": ["hunter2"]}`,
		`{"edits": [{"kind": "Secret", "name": "a", "content": "hunter2"}]}`} {
		if a := r.do(call{who: "alice", method: "POST", path: "/changes", body: body}); strings.Contains(string(a.body),
			"hunter2") || a.StatusCode < 400 {
			t.Errorf("%d %s", a.StatusCode, a.body)
		}
	}
}

func TestUnknownCallersAre401AndNotNoted(t *testing.T) {
	r := newRig(t)
	r.tokens["nonsense"], r.tokens["other"], r.tokens["empty"] = "nonsense", "cardea_"+strings.Repeat("A", 43), ""
	for i, c := range []call{
		{method: "GET", path: "/head"},
		{who: "nonsense", method: "GET", path: "/head"},
		{who: "other", method: "PUT", path: path("web"), body: "{"},
		{who: "empty", method: "POST", path: "/changes", body: "{}"},
		{method: "GET", path: "/no/such/path"},
		{method: "GET", path: "/head", header: map[string]string{"Authorization": "Basic YTpi"}},
	} {
		a := r.do(c)
		a.problem(401, ledger.Unknown)
		if !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer") || r.unknown.Load() != int64(i+1) {
			t.Errorf("%+v: %v, %d were counted", c, a.Header, r.unknown.Load())
		}
	}
	list, err := r.store.Denials(context.Background(), ledger.Page{})
	r.ok(err)
	if len(list) != 0 {
		t.Fatalf("noted: %+v", list)
	}
}

func TestNoSuchPathIs404AndNoSuchMethod405(t *testing.T) {
	r := newRig(t)
	r.do(call{who: "bob", method: "GET", path: "/nothing"}).problem(404, ledger.NotFound)
	a := r.do(call{who: "bob", method: "DELETE", path: "/changes"})
	a.problem(405, ledger.Invalid)
	if allow := a.Header.Get("Allow"); !strings.Contains(allow, "POST") || !strings.Contains(allow, "GET") {
		t.Fatalf("Allow: %s", allow)
	}
}

func TestUnavailableIs503WithRetryAfter(t *testing.T) {
	const issuer = "http://127.0.0.1:1" // nobody listens there
	r := newRig(t, func(c *rest.Config) {
		c.Callers = auth.New(auth.Config{Access: c.Ledger, OIDC: &auth.OIDC{Issuer: issuer, Audience: "ledger"}})
	})
	r.tokens["dave"] = "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss": "`+issuer+`"}`)) + ".x"
	a := r.do(call{who: "dave", method: "GET", path: "/head"})
	a.problem(503, ledger.Unavailable)
	if a.Header.Get("Retry-After") == "" {
		t.Fatal(a.Header)
	}
}

func TestWhatMayNotBeDoneIs403AndNoted(t *testing.T) {
	r := newRig(t)
	r.create("web", "a.example")
	for i, c := range []struct {
		call
		permission ledger.Permission
		object     string
	}{
		{call{who: "bob", method: "PUT", path: path("web"), body: web("web", "b.example"), header: ifMatch(`"1"`)},
			ledger.MayWrite, "HTTPRoute shop/web"},
		{call{who: "bob", method: "DELETE", path: path("web"), header: ifMatch(`"1"`)}, ledger.MayDelete,
			"HTTPRoute shop/web"},
		{call{who: "carol", method: "GET", path: path("web")}, ledger.MayRead, "HTTPRoute shop/web"},
		{call{who: "carol", method: "GET", path: path("none")}, ledger.MayRead, "HTTPRoute shop/none"},
		{call{who: "carol", method: "GET", path: path("web") + "/history"}, ledger.MayRead, "HTTPRoute shop/web"},
		{call{who: "carol", method: "GET", path: "/changes/1"}, ledger.MayRead, "HTTPRoute shop/web"},
		{call{who: "bob", method: "POST", path: "/changes", body: `{"edits": [{"content": ` + web("x", "y") + `}]}`},
			ledger.MayWrite, ""},
		{call{who: "bob", method: "POST", path: "/changes/1/undo", body: `{}`}, ledger.MayRollback, ""},
		{call{who: "bob", method: "POST", path: "/retry", body: `{}`}, ledger.MayWrite, ""},
		{call{who: "alice", method: "GET", path: "/tokens"}, ledger.MayAdmin, ""},
		{call{who: "alice", method: "PUT", path: "/grants/x", body: `{"name": "x", "subjects": ["alice"],
			"permissions": ["admin"]}`}, ledger.MayAdmin, ""},
		{call{who: "alice", method: "PUT", path: "/targets/x", body: `{"name": "x", "server": "Proxies"}`},
			ledger.MayAdmin, ""},
		{call{who: "alice", method: "DELETE", path: "/clusters/x"}, ledger.MayAdmin, ""},
		{call{who: "alice", method: "GET", path: "/denials"}, ledger.MayAdmin, ""},
		{call{who: "alice", method: "GET", path: "/verify"}, ledger.MayAdmin, ""},
		{call{who: "root", method: "POST", path: "/clusters/east/claims", body: `{"worker": "w"}`}, "work", ""},
		{call{who: "root", method: "POST", path: "/live", body: `{"live": []}`}, "work", ""},
	} {
		r.do(c.call).problem(403, ledger.Denied)
		list, err := r.store.Denials(context.Background(), ledger.Page{})
		r.ok(err)
		if len(list) != i+1 {
			t.Fatalf("%+v: %d are noted, want %d", c.call, len(list), i+1)
		}
		path, _, _ := strings.Cut(c.path, "?")
		if d := newest(list); d.Subject != c.who || d.Permission != c.permission || d.Object != c.object ||
			d.Request != c.method+" /ledger/v1"+path {
			t.Errorf("noted: %+v, want %s %q %s", d, c.permission, c.object, c.path)
		}
	}
	if v, err := r.store.Verify(context.Background()); err != nil || len(v.Wrong) > 0 {
		t.Fatalf("%+v, %v", v, err)
	}
}

func newest(list []ledger.Denial) ledger.Denial {
	last := list[0]
	for _, d := range list {
		if d.Number > last.Number {
			last = d
		}
	}
	return last
}
