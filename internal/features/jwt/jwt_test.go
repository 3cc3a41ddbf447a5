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
	got, err := parseKeys(keys(rsaKey, ecKey, edKey, symmetric, offCurve))
	if err != nil || strings.Count(got, "kty") != 3 || strings.Contains(got, "private") || strings.Contains(got, "oct") {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := parseKeys(keys()); !errors.Is(err, errNoKeys) {
		t.Errorf("an empty set: %v", err)
	}
	for text, want := range map[string]string{
		"-----BEGIN":                             "not a key set",
		"{}":                                     `no list "keys"`,
		keys(symmetric):                          `keys[0]: kty is "oct"`,
		keys(offCurve):                           "keys[0]: ",
		keys(`{"kty":"RSA","use":"enc"}`):        `use is "enc"`,
		keys(`{"kty":"RSA","alg":"RSA-OAEP"}`):   `alg is "RSA-OAEP"`,
		keys(`{"kty":"RSA","n":"!","e":"AQAB"}`): "n has 0 bits",
	} {
		if _, err := parseKeys(text); err == nil || !strings.Contains(err.Error(), want) {
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
		{Strict, "/", http.Header{"Authorization": {"Basic YTpi"}}, []extend.Verdict{{Status: 401}}},
		{Strict, "/", http.Header{"Authorization": {"Bearer x"}}, []extend.Verdict{asked}},
		{Strict, "/?token=x", nil, []extend.Verdict{asked}},
		{Optional, "/", http.Header{"Cookie": {"t=x"}}, []extend.Verdict{asked}},
		{Optional, "/", nil, nil},
		{Permissive, "/?token=x", nil, []extend.Verdict{{If: asked.If}}},
	} {
		v := Value{Mode: of.mode, Providers: []Accepted{{Name: "corp", From: from}}}
		if got := judge(extend.Request{Path: of.path, Header: of.header}, v); fmt.Sprint(got) != fmt.Sprint(of.want) {
			t.Errorf("%s %s %v: %v, want %v", of.mode, of.path, of.header, got, of.want)
		}
	}
}
