package e2e

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"cardea.dev/cardea/internal/standalone"
	"cardea.dev/cardea/internal/testcert"
)

// TestModelCallers: callers of models are the URIs of certificates, the subjects of tokens, or a claim; nobody is
// called by what a client says of itself.
func TestModelCallers(t *testing.T) {
	t.Parallel()
	spire, log := testcert.Authority("spire"), filepath.Join(t.TempDir(), "log")
	s := &modelStage{identityStage(t, spire.Certificate, nil, func(o *standalone.Options) { o.AccessLog = log }), log}
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
  jwt: {providers: [{name: corp, issuer: 'https://corp', jwks: {inline: '`+corpKeys(t)+`'}}]}
`)
	s.soon("GET http://role.example/ -> 401\nGET http://subject.example/ -> 401")
	token := corpToken(t)
	s.expect("GET http://subject.example/ -t " + token + " -> 200\nGET http://role.example/ -t " + token + " -> 200\n" +
		"GET http://shop.example/ -H x-cardea-user:eve -> 200")
	if status, err := s.as(showsChain(svid(spire, agentID)), ""); err != nil || status != http.StatusOK {
		t.Fatal(status, err)
	}
	var want []string
	for _, caller := range []string{"ann", "admin", "", agentID} {
		want = append(want, requestsOf(caller, "m", "known", 1), tokensOf(caller, "m", "input", 3),
			tokensOf(caller, "m", "output", 4), tokensOf(caller, "m", "cached", 0))
	}
	s.has(want...)
}

// corpKeys and corpToken are the keys and a token (ann, of role admin) of testdata.
func corpKeys(t *testing.T) string { return inTestdata(t, `inline: '(\{"keys".*?\]\})'`) }

func corpToken(t *testing.T) string { return inTestdata(t, `/subjects -t (\S+)`) }

func inTestdata(t *testing.T, pattern string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/policies-more-fields.txtar")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(pattern).FindSubmatch(text)
	if found == nil {
		t.Fatalf("there is no %s", pattern)
	}
	return string(found[1])
}
