package rest_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/rest"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/ledger/wire"
)

const secretPath = "/targets/default/objects/Secret/shop/key"

func secret(values string) string {
	return `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": "shop"}, ` + values + `}`
}

// values are what an object's data and stringData show.
func (a answer) values() map[string]string {
	a.t.Helper()
	var o struct {
		Content struct{ Data, StringData map[string]string }
	}
	if err := json.Unmarshal(a.body, &o); err != nil {
		a.t.Fatal(err)
	}
	all := map[string]string{}
	for _, list := range []map[string]string{o.Content.Data, o.Content.StringData} {
		for name, value := range list {
			all[name] = value
		}
	}
	return all
}

func TestSecretsShowDigestsInPlaceOfValues(t *testing.T) {
	r := newRig(t)
	put := func(values, tag string) answer {
		h := map[string]string{"If-None-Match": "*"}
		if tag != "" {
			h = ifMatch(tag)
		}
		return r.do(call{who: "alice", method: "PUT", path: secretPath, body: secret(values), header: h})
	}
	const first = `"data": {"a": "aHVudGVyMg==", "same": "aHVudGVyMg=="}, "stringData": {"pin": "1234"}`
	put(first, "").is(201, nil)
	get := func(query string) answer {
		return r.do(call{who: "bob", method: "GET", path: secretPath + query}).is(200, nil)
	}
	one := get("")
	shown := one.values()
	for name, value := range shown {
		if !regexp.MustCompile(`^sha256:[0-9a-f]{32}$`).MatchString(value) {
			t.Errorf("%s is shown as %q", name, value)
		}
	}
	if len(shown) != 3 || shown["a"] == shown["same"] {
		t.Fatalf("equal values show that they are equal: %v", shown)
	}
	put(`"data": {"a": "b3RoZXI=", "same": "aHVudGVyMg=="}, "stringData": {"pin": "1234"}`, `"1"`).is(201, nil)
	two := get("")
	if now := two.values(); now["a"] == shown["a"] || now["same"] != shown["same"] || now["pin"] != shown["pin"] {
		t.Fatalf("%v, before %v: exactly a changed", now, shown)
	}
	answers := []answer{one, two, get("?at=1"),
		r.do(call{who: "root", method: "GET", path: "/targets/default/objects?contents=true"}).is(200, nil),
		r.do(call{who: "root", method: "POST", path: "/objects/query", body: `{"contents": true}`}).is(200, nil),
		r.do(call{who: "root", method: "GET", path: secretPath + "/history"}).is(200, nil),
		r.do(call{who: "root", method: "GET", path: "/changes"}).is(200, nil),
		put(first, `"2"`).is(201, nil),
		r.do(call{who: "alice", method: "PATCH", path: secretPath, body: `{"metadata": {"labels": {"x": "y"}}}`,
			header: map[string]string{"If-Match": `"3"`, "Content-Type": "application/merge-patch+json"}}).is(201, nil)}
	for _, a := range answers {
		for _, value := range []string{"aHVudGVyMg", "hunter2", "b3RoZXI", "1234\""} {
			if strings.Contains(string(a.body), value) {
				t.Errorf("%s %s shows %q: %s", a.Request.Method, a.Request.URL, value, a.body)
			}
		}
	}
	// The patch kept the values that nobody showed.
	o, err := r.store.Object(context.Background(), ledger.Key{Target: "default", Kind: "Secret", Namespace: "shop",
		Name: "key"}, 0)
	if err != nil || !strings.Contains(string(o.Content), "aHVudGVyMg==") || o.Generation != 4 {
		t.Fatalf("%s, %v", o.Content, err)
	}
}

// Digests are keyed per process: who knows how they are made can't find a short value by trying.
func TestDigestsOfSecretsDifferBetweenProcesses(t *testing.T) {
	r := newRig(t)
	r.do(call{who: "alice", method: "PUT", path: secretPath, body: secret(`"stringData": {"pin": "1234"}`),
		header: map[string]string{"If-None-Match": "*"}}).is(201, nil)
	first := r.do(call{who: "bob", method: "GET", path: secretPath}).values()
	other := newRig(t, func(c *rest.Config) { c.Ledger = r.store })
	other.do(call{who: "root", method: "GET", path: secretPath}).is(200, nil)
	if second := other.do(call{who: "root", method: "GET", path: secretPath}).values(); second["pin"] == first["pin"] {
		t.Fatal("two processes show the same digest")
	}
}

func TestDigestsAreRefusedAsValuesOfSecrets(t *testing.T) {
	r := newRig(t)
	r.do(call{who: "alice", method: "PUT", path: secretPath, body: secret(`"stringData": {"pin": "1234", "b": "x"}`),
		header: map[string]string{"If-None-Match": "*"}}).is(201, nil)
	shown := r.do(call{who: "alice", method: "GET", path: secretPath})
	sent := []call{
		{method: "PUT", path: secretPath, body: shown.content(t), header: ifMatch(`"1"`)},
		{method: "PATCH", path: secretPath, body: `{"stringData": {"pin": "` + shown.values()["pin"] + `"}}`,
			header: map[string]string{"If-Match": `"1"`, "Content-Type": "application/merge-patch+json"}},
		{method: "POST", path: "/changes", body: wire.Draft{Edits: []wire.Edit{{Content: ledger.Content(shown.content(t))}}}},
		{method: "POST", path: "/preview", body: wire.Draft{Edits: []wire.Edit{{Content: ledger.Content(shown.content(t))}}}},
	}
	for _, c := range sent {
		c.who = "alice"
		p := r.do(c).problem(422, ledger.Invalid)
		if !strings.HasPrefix(p.Field, "stringData.") || p.Object != "Secret shop/key" {
			t.Errorf("%s %s: %+v", c.method, c.path, p)
		}
	}
}

// TestPathOfTheKeyFileIsNotTold: whatever needs the key that is not there is refused without its path, which is logged.
func TestPathOfTheKeyFileIsNotTold(t *testing.T) {
	var log strings.Builder
	r := newRig(t)
	put := func(name, values string) call {
		return call{who: "alice", method: "PUT", path: strings.Replace(secretPath, "/key", "/"+name, 1),
			body:   strings.Replace(secret(values), `"name": "key"`, `"name": "`+name+`"`, 1),
			header: map[string]string{"If-None-Match": "*"}}
	}
	r.do(put("key", `"data": {"a": "aHVudGVyMg=="}`)).is(201, nil)
	file, err := r.store.KeyFile(t.Context())
	r.ok(err)
	url := strings.TrimSuffix(file, ".key")
	again, err := store.Open(t.Context(), store.Config{URL: url})
	r.ok(err)
	defer again.Close()
	r.ok(os.Rename(file, file+".lost"))
	beside := newRig(t, func(c *rest.Config) {
		c.Ledger, c.Log = again, slog.New(slog.NewTextHandler(&log, nil))
	})
	for name, c := range map[string]call{
		"patch": {who: "alice", method: "PATCH", path: secretPath, body: `{"data": {"a": "eA=="}}`,
			header: map[string]string{"If-Match": "*", "Content-Type": "application/merge-patch+json"}},
		"write": put("other", `"data": {"a": "eA=="}`),
	} {
		log.Reset()
		p := beside.do(c).problem(422, ledger.Unprotected)
		text := p.Detail + p.Fix + p.Object
		if strings.Contains(text, filepath.Base(file)) || !strings.Contains(text, "Secret shop/") {
			t.Errorf("%s: %+v", name, p)
		}
		if !strings.Contains(log.String(), file) {
			t.Errorf("%s: the log is %s", name, &log)
		}
	}
}
