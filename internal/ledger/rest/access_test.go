package rest_test

import (
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/auth"
	"cardea.dev/cardea/internal/ledger/wire"
)

func TestTokensAreMadeShownOnceAndTakenBack(t *testing.T) {
	r := newRig(t)
	var made struct{ Token string }
	a := r.do(call{who: "root", method: "PUT", path: "/tokens/dave", body: `{"subject": "dave", "groups": ["platform"]}`}).
		is(200, &made)
	if !strings.HasPrefix(made.Token, auth.Prefix) || a.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%s %v", a.body, a.Header)
	}
	r.tokens["dave"] = made.Token
	r.do(call{who: "dave", method: "PUT", path: path("web"), body: web("web", "a"),
		header: map[string]string{"If-None-Match": "*"}}).is(201, nil)
	list := r.do(call{who: "root", method: "GET", path: "/tokens"}).is(200, nil)
	if text := string(list.body); strings.Contains(text, made.Token) || strings.Contains(text,
		auth.HashToken(made.Token)) ||
		!strings.Contains(text, `"dave"`) {
		t.Fatal(text)
	}
	var found wire.Token
	r.do(call{who: "root", method: "GET", path: "/tokens/by-hash/" + auth.HashToken(made.Token)}).is(200, &found)
	if found.Subject != "dave" {
		t.Fatalf("%+v", found)
	}
	token, hash := auth.MintToken()
	a = r.do(call{who: "root", method: "PUT", path: "/tokens/own", body: `{"subject": "dave", "hash": "` + hash + `"}`}).
		is(200, &made)
	if strings.Contains(string(a.body), auth.Prefix) {
		t.Fatalf("%s", a.body)
	}
	r.tokens["own"] = token
	r.do(call{who: "own", method: "GET", path: "/head"}).is(200, nil)
	r.do(call{who: "root", method: "DELETE", path: "/tokens/dave"}).is(204, nil)
	r.do(call{who: "dave", method: "GET", path: "/head"}).problem(401, ledger.Unknown)
	for _, body := range []string{`{}`, `{"subject": "a", "cluster": "b"}`} {
		r.do(call{who: "root", method: "PUT", path: "/tokens/bad", body: body}).problem(422, ledger.Invalid)
	}
	r.do(call{who: "root", method: "DELETE", path: "/tokens/none"}).problem(404, ledger.NotFound)
}

func TestGrantCountsAtOnce(t *testing.T) {
	r := newRig(t)
	r.create("web", "a")
	get := call{who: "carol", method: "GET", path: path("web")}
	r.do(get).problem(403, ledger.Denied)
	r.do(call{who: "root", method: "PUT", path: "/grants/carol", body: ledger.Grant{Name: "carol",
		Subjects: []string{"carol"}, Permissions: []ledger.Permission{ledger.MayRead}, Kinds: []string{"HTTPRoute"}}}).
		is(204, nil)
	r.do(get).is(200, nil)
	var grants struct{ Grants []ledger.Grant }
	r.do(call{who: "root", method: "GET", path: "/grants"}).is(200, &grants)
	if len(grants.Grants) != 4 {
		t.Fatalf("%+v", grants)
	}
	r.do(call{who: "root", method: "DELETE", path: "/grants/carol"}).is(204, nil)
	r.do(get).problem(403, ledger.Denied)
	r.do(call{who: "root", method: "PUT", path: "/grants/a", body: `{"name": "b", "subjects": ["a"],
		"permissions": ["read"]}`}).problem(422, ledger.Invalid)
}

func TestDenialsAreListedAndVerified(t *testing.T) {
	r := newRig(t)
	r.do(call{who: "carol", method: "GET", path: path("web")}).problem(403, ledger.Denied)
	r.do(call{who: "root", method: "POST", path: "/denials", body: `{"subject": "eve", "permission": "write",
		"request": "PUT /x"}`}).is(204, nil)
	var denials struct{ Denials []ledger.Denial }
	r.do(call{who: "root", method: "GET", path: "/denials?limit=10"}).is(200, &denials)
	if len(denials.Denials) != 2 {
		t.Fatalf("%+v", denials)
	}
	r.create("web", "a")
	var v ledger.Verification
	r.do(call{who: "root", method: "GET", path: "/verify"}).is(200, &v)
	if len(v.Wrong) != 0 {
		t.Fatalf("%+v", v)
	}
}
