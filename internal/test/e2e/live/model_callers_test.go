package live

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/test/testcert"
)

// TestModelCallers: callers of models are the URIs of certificates, the subjects of tokens, or a claim; nobody is
// called by what a client says of itself. Their names are such as metrics can have: Envoy accepts no token that is no
// UTF-8, but a cut could make one.
func TestModelCallers(t *testing.T) {
	t.Parallel()
	spire, log := testcert.NewAuthority("spire"), filepath.Join(t.TempDir(), "log")
	s := &modelStage{identityStage(t, spire.Certificate, nil, func(o *standalone.Options) { o.AccessLog = log }), log}
	corp := newIssuer(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"model":"m",`+oddUsage+`}`)
	}))
	t.Cleanup(server.Close)
	s.write("blue.yaml", serviceOn("blue", server.Listener.Addr().(*net.TCPAddr).Port))
	s.write("models.yaml", routeFile("subject", "subject.example", to("blue"))+"---\n"+
		routeFile("role", "role.example", to("blue"))+`---
apiVersion: cardea.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: models, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  modelUsage: {}
---
apiVersion: cardea.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: role, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: role}]
  modelUsage: {caller: {claim: realm.role}}
---
apiVersion: cardea.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: corp, namespace: shop}
spec:
  targetRefs:
  - {group: gateway.networking.k8s.io, kind: HTTPRoute, name: role}
  - {group: gateway.networking.k8s.io, kind: HTTPRoute, name: subject}
  jwt:
    providers:
    - {name: before, issuer: 'https://before', jwks: {inline: '`+corp.keys()+`'}}
    - {name: corp, issuer: 'https://corp', jwks: {inline: '`+corp.keys()+`'}}
`)
	s.soon("GET http://role.example/ -> 401\nGET http://subject.example/ -> 401")
	callers := []string{"", agentID}
	for _, call := range []struct{ host, claims, caller string }{
		{"subject", `"sub":"ann","realm":{"role":"x"}`, "ann"},
		{"role", `"sub":"x","realm":{"role":"admin"}`, "admin"},
		{"role", `"realm":{"role":1234567890123456}`, "1234567890123456"},
		{"role", `"realm":{"role":1.5}`, "1.5"},
		{"subject", `"sub":"` + strings.Repeat("x", 127) + `é"`, strings.Repeat("x", 127)},
		{"subject", `"sub":"` + strings.Repeat("x", 126) + `éx"`, strings.Repeat("x", 126) + "é"},
		{"subject", `"sub":"` + strings.Repeat("y", 200) + `"`, strings.Repeat("y", 128)},
		{"subject", `"sub":"日本 😀\u0000\u001f\u0085\\\""`, "日本 😀___\\\""},
	} {
		s.expect("GET http://" + call.host + ".example/ -t " + corp.token(call.claims) + " -> 200")
		callers = append(callers, call.caller)
	}
	for _, sub := range []string{`a\ud83dz`, "a\xffz", "a\xedz\xa0\x80z"} {
		s.expect("GET http://subject.example/ -t " + corp.token(`"sub":"`+sub+`"`) + " -> 401")
	}
	s.expect("GET http://shop.example/ -H x-cardea-user:eve -> 200")
	if status, err := s.as(showsChain(svid(spire, agentID)), ""); err != nil || status != http.StatusOK {
		t.Fatal(status, err)
	}
	var want []string
	for _, caller := range callers {
		want = append(want, requestsOf(caller, "m", "known", 1), tokensOf(caller, "m", "input", 3),
			tokensOf(caller, "m", "output", 4), tokensOf(caller, "m", "cached", 0))
	}
	s.has(want...)
}

// issuer makes tokens.
type issuer struct {
	t   *testing.T
	key *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return issuer{t, key}
}

// keys is its key set.
func (i issuer) keys() string {
	i.t.Helper()
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), Algorithm: "ES256"}}})
	if err != nil {
		i.t.Fatal(err)
	}
	return string(text)
}

// token has claims beside those of every token, as JSON: `"sub":"ann"`.
func (i issuer) token(claims string) string {
	i.t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: i.key}, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	signed, err := signer.Sign([]byte(`{"iss":"https://corp","exp":4102444800,` + claims + `}`))
	if err != nil {
		i.t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return token
}
