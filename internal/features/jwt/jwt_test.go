package jwt

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"cardea.dev/cardea/extend"
)

var b64 = base64.RawURLEncoding.EncodeToString

func keys(each ...string) string { return `{"keys": [` + strings.Join(each, ",") + `]}` }

// TestParseKeys: keys of each kind that Envoy takes are kept, others are left out, private parts are left out, and a
// set without a usable key says why.
func TestParseKeys(t *testing.T) {
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	e, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := e.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey := fmt.Sprintf(`{"kty":"RSA","alg":"RS256","n":%q,"e":"AQAB","d":"private"}`, b64(r.N.Bytes()))
	ecKey := fmt.Sprintf(`{"kty":"EC","crv":"P-256","x":%q,"y":%q}`, b64(point[1:33]), b64(point[33:]))
	offCurve := fmt.Sprintf(`{"kty":"EC","crv":"P-256","x":%q,"y":%q}`, b64(point[33:]), b64(point[33:]))
	edKey := fmt.Sprintf(`{"kty":"OKP","crv":"Ed25519","x":%q}`, b64(d))
	const symmetric = `{"kty":"oct","k":"secret"}`
	got, ignored, err := parseKeys(keys(rsaKey, ecKey, edKey, symmetric, offCurve))
	if err != nil || strings.Count(got, "kty") != 3 || strings.Contains(got, "private") || strings.Contains(got, "oct") ||
		fmt.Sprint(ignored) != "keys[3]: kty is none of RSA, EC and OKP; keys[4]: x and y are not a point on the curve" {
		t.Errorf("%s, %v, %v", got, ignored, err)
	}
	if _, _, err := parseKeys(keys()); !errors.Is(err, errNoKeys) {
		t.Errorf("an empty set: %v", err)
	}
	replaced := func(old, with string) string { return strings.Replace(ecKey, old, with, 1) }
	for bad, want := range map[string]string{
		`"text"`: "it is not a JSON object", `7`: "it is not a JSON object", `null`: "it is not a JSON object",
		`[]`: "it is not a JSON object", `{}`: "kty is none of RSA, EC and OKP",
		replaced(`"kty"`, `"kid":7,"kty"`): "kid is not a text",
		replaced(`"x":`, `"x":{},"was":`):  "x is not a text",
		replaced(`"EC"`, `7`):              "kty is not a text",
		// Names are exact, and of two members of one name the last counts.
		replaced(`"kty"`, `"KTY"`):                                       "kty is none of RSA, EC and OKP",
		replaced(`"EC"`, `"EC","y":"AA"`):                                "",
		replaced(`}`, `,"y":"AA"}`):                                      "x and y have 32 and 1 bytes, want 32",
		replaced(`"kty"`, `"alg":null,"kty"`):                            "",
		replaced(`"kty"`, `"use":"enc","kty"`):                           "",
		replaced(`"kty"`, `"kid":"`+strings.Repeat("k", 2000)+`","kty"`): "kid has more than 1024 bytes",
	} {
		got, ignored, err := parseKeys(keys(bad, edKey))
		if err != nil || !strings.Contains(got, "Ed25519") || (want == "") != (ignored == nil) ||
			ignored != nil && ignored.Error() != "keys[0]: "+want {
			t.Errorf("%s: %s, %v, %v, want %s", bad, got, ignored, err, want)
		}
	}
	got, ignored, err = parseKeys(keys(strings.Split(strings.Repeat(edKey+" ", maxKeys+8), " ")[:maxKeys+8]...))
	if err != nil || strings.Count(got, "kty") != maxKeys || !strings.Contains(ignored.Error(), "; and 4 more") {
		t.Errorf("too many keys: %v, %v", ignored, err)
	}
	for text, want := range map[string]string{
		"-----BEGIN":                             "not a key set",
		"null":                                   "not a key set",
		"{}":                                     `no list "keys"`,
		`{"keys":{}}`:                            `no list "keys"`,
		`{"Keys":[]}`:                            `no list "keys"`,
		keys(symmetric):                          `keys[0]: kty is none of RSA`,
		keys(offCurve):                           "keys[0]: ",
		keys(`{"kty":"RSA","use":"enc"}`):        `use is not sig`,
		keys(`{"kty":"RSA","alg":"RSA-OAEP"}`):   `alg is not an RSA signature algorithm`,
		keys(`{"kty":"RSA","n":"!","e":"AQAB"}`): "n has 0 bits",
		keys(strings.Replace(rsaKey, "AQAB", "EQ", 1)): "e is neither 3 nor 65537",
	} {
		if _, _, err := parseKeys(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestJudge: what is certain without knowing a token is told, the rest depends on the provider.
func TestJudge(t *testing.T) {
	from := []Source{{Header: "authorization", Prefix: "Bearer "}, {Query: "token"}, {Cookie: "t"}}
	asked := extend.Verdict{Status: 401, If: "the token is accepted by corp"}
	for _, of := range []struct {
		mode   Mode
		path   string
		header http.Header
		want   []extend.Verdict
	}{
		{Strict, "/", http.Header{"Authorization": {"Basic YTpi"}}, []extend.Verdict{{Status: 401, Why: "it has no token"}}},
		{Strict, "/", http.Header{"Authorization": {"Bearer x"}}, []extend.Verdict{asked}},
		{Strict, "/?token=x", nil, []extend.Verdict{asked}},
		{Optional, "/", http.Header{"Cookie": {"t=x"}}, []extend.Verdict{asked}},
		{Optional, "/", nil, nil},
		{Permissive, "/?token=x", nil, []extend.Verdict{{If: asked.If}}},
	} {
		v := Value{Mode: of.mode, Providers: []ResolvedProvider{{Name: "corp", From: from}}}
		if got := judgeRequest(extend.Request{Path: of.path, Header: of.header}, v); fmt.Sprint(got) != fmt.Sprint(of.want) {
			t.Errorf("%s %s %v: %v, want %v", of.mode, of.path, of.header, got, of.want)
		}
	}
}
