package live

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/test/testcert"
)

// The key set of an issuer, and a token that it signed: of ann, of team dev, for shop.
const (
	keysOfCorp = `{"keys": [{"kty": "EC", "crv": "P-256", "kid": "a", "alg": "ES256", ` +
		`"x": "RIJQiqFezk7zCME9jgpOK6nMjirwjd_KAeEGSynmAy8", "y": "jQt3ZkG1yojn_2MDGqo4mVuxmbVRf-bNABIk6RcZYqw"}]}`
	tokenOfAnn = "eyJhbGciOiJFUzI1NiIsImtpZCI6ImEifQ.eyJhLmIiOiJkb3QiLCJhdWQiOiJzaG9wIiwiZXhwIjo0MTAyNDQ0ODAwLCJpYXQiO" +
		"jE3MDAwMDAwMDAsImlzcyI6Imh0dHBzOi8vY29ycCIsInJlYWxtIjp7InJvbGUiOiJhZG1pbiJ9LCJzdWIiOiJhbm4iLCJ0ZWFtIjoiZGV2In0." +
		"gq0QT8VCVmN01tvXtoqeYRCDD9Bv_QgvWRQSp6M90SRUYsSNJe4lg6dvd6oPAhOW0jwBLwnuy5Tp2wKmwnvJbQ"
)

// documented starts what an example of docs/agents.md shows, with a real server of tools. more are other files.
func documented(t *testing.T, example int, more string, change func(string) string) (a *agents, log string) {
	t.Helper()
	text, err := os.ReadFile("../../../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) <= example {
		t.Fatal("the document has too few examples")
	}
	a = &agents{stage: prepare(t, t.TempDir(), archive()), ca: testcert.NewAuthority("agents"), dir: t.TempDir()}
	_, port, _ := net.SplitHostPort(e2e.Started(t, goServer(t).command))
	a.ports["tools"], _ = strconv.Atoi(port)
	certificate := a.ca.NewServer("tools.example")
	a.file("ca", a.ca.Certificate)
	a.write("secret.yaml", secretFile(certificate.Certificate, certificate.PrivateKey))
	a.write("authority.yaml", configMapFile("agents", "ca.crt", a.ca.Certificate))
	a.write("keys.yaml", configMapFile("keys", "jwks", []byte(keysOfCorp)))
	a.write("tools.yaml", serviceFile("tools", "tools"))
	a.write("example.yaml", change(string(blocks[example][1]))+more)
	log = filepath.Join(t.TempDir(), "access.log")
	a.start(func(o *standalone.Options) { o.AccessLog = log })
	a.Ready(t)
	return a, log
}

// logsCall waits until the log has a call of a tool, of a caller or user, with what was decided.
func logsCall(t *testing.T, log, tool, who, name, decided string) {
	t.Helper()
	e2e.Eventually(t, func() error {
		lines, err := logged(log)
		for _, line := range slices.Concat(lines["tools"], lines["keys"]) {
			said, _ := line["access"].(map[string]any)
			if line["mcpName"] == tool && line[who] == name && said["access_backend_enforced_engine_result"] == decided {
				return nil
			}
		}
		if err == nil {
			err = fmt.Errorf("no call of %s by the %s %s that was %s in %v", tool, who, name, decided, lines)
		}
		return err
	})
}

// TestDocumentedCertificates: the first example of docs/agents.md does what it says, and the log has who was denied.
func TestDocumentedCertificates(t *testing.T) {
	t.Parallel()
	a, log := documented(t, 0, "", func(text string) string { return text })
	agent := e2e.GoAgent(t)
	for _, name := range []string{"accountant", "buyer"} {
		a.certificate(name, "spiffe://cluster.local/ns/shop/sa/"+name)
	}
	a.does(agent, "accountant", `list`, "get-sum", `call get-sum {"a":1,"b":2}`, "3",
		`call order {"item":"tea","amount":1}`, forbiddenTool)
	a.does(agent, "buyer", `list`, "order", `call order {"item":"tea","amount":10}`, "ordered 10 of tea",
		`call order {"item":"tea","amount":11}`, forbiddenTool)
	logsCall(t, log, "get-sum", "caller", "spiffe://cluster.local/ns/shop/sa/accountant", "allowed")
	logsCall(t, log, "order", "caller", "spiffe://cluster.local/ns/shop/sa/buyer", "denied")
}

// TestDocumentedTokens: the second example of docs/agents.md does what it says; the log has who was denied, by the
// subject of the token and by the name of a key; and a 401 names the metadata of the resource, which is served, where
// tokens are asked for at a server of MCP.
func TestDocumentedTokens(t *testing.T) {
	t.Parallel()
	a, log := documented(t, 1, moreServers, strings.NewReplacer("https://login.example", "https://corp").Replace)
	agent := e2e.GoAgent(t)
	a.certificate("ann") // of which the Gateway asks none
	agent.Env = append(agent.Env, "TOKEN="+tokenOfAnn)
	a.does(agent, "ann", `list`, "get-sum order", `call get-sum {"a":1,"b":2}`, "3", `call get-env {}`, forbiddenTool,
		`call order {"item":"tea","amount":1}`, "ordered 1 of tea")
	logsCall(t, log, "get-sum", "user", "ann", "allowed")
	logsCall(t, log, "get-env", "user", "ann", "denied")

	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(a.ca.Certificate)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: authorities, ServerName: "tools.example"},
	}}
	t.Cleanup(client.CloseIdleConnections)
	const metadata = `, resource_metadata="https://tools.example/.well-known/oauth-protected-resource`
	for _, c := range []struct{ path, token, want string }{
		{"/mcp", "", `Bearer realm="https://tools.example/mcp"` + metadata + `/mcp"`},
		{"/mcp/more?x=y", "wrong", `, error="invalid_token"` + metadata + `/mcp/more"`},
		{"/open", "", `Bearer realm="https://tools.example/open"` + metadata + `/open"`},
		{"/rest", "", `Bearer realm="https://tools.example/rest"` + metadata + `/rest"`},
		{"/plain", "", `Bearer realm="https://tools.example/plain"`},
		{"/own", "", `Own`},
	} {
		header := a.post(client, c.path, http.Header{"Authorization": {"Bearer " + c.token}}, http.StatusUnauthorized)
		got := header.Get("WWW-Authenticate")
		named := strings.Contains(got, "resource_metadata")
		if !strings.HasSuffix(got, c.want) || named != strings.Contains(c.want, metadata) {
			t.Errorf("%s: WWW-Authenticate %q, want %q", c.path, got, c.want)
		}
	}
	a.post(client, "/keys", http.Header{"Authorization": {"key-of-mobile"}}, http.StatusOK)
	logsCall(t, log, "get-env", "user", "mobile", "denied")
	header := a.post(client, "/keys", http.Header{"Authorization": {"wrong"}}, http.StatusUnauthorized)
	if got := header.Get("WWW-Authenticate"); strings.Contains(got, "resource_metadata") {
		t.Errorf("a wrong key is answered with %q", got)
	}
	request, err := http.NewRequest(http.MethodGet, "https://"+a.at(443)+"/.well-known/oauth-protected-resource/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "tools.example"
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "application/json" {
		t.Errorf("the metadata: %d, %v", response.StatusCode, response.Header)
	}
}

// moreServers are other rules of the second example's host: servers without an access policy, tools of a REST API, one
// with a challenge of its own, one that takes keys, and a backend that is no server of tools.
const moreServers = `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: more, namespace: shop}
spec:
  parentRefs: [{name: agents}]
  rules:
  - name: open
    matches: [{path: {value: /open}}]
    backendRefs: [{group: agentic.networking.x-k8s.io, kind: XBackend, name: open}]
  - name: own
    matches: [{path: {value: /own}}]
    backendRefs: [{group: agentic.networking.x-k8s.io, kind: XBackend, name: open}]
  - name: keys
    matches: [{path: {value: /keys}}]
    backendRefs: [{group: agentic.networking.x-k8s.io, kind: XBackend, name: tools}]
  - name: rest
    matches: [{path: {value: /rest}}]
    filters: [{type: ExtensionRef, extensionRef: {group: cardea.dev, kind: MCPTools, name: rest}}]
    backendRefs: [{name: tools, port: 80}]
  - name: plain
    matches: [{path: {value: /plain}}]
    backendRefs: [{name: tools, port: 80}]
---
apiVersion: agentic.networking.x-k8s.io/v0alpha0
kind: XBackend
metadata: {name: open, namespace: shop}
spec: {mcp: {serviceName: tools, port: 80, path: /}}
---
apiVersion: cardea.dev/v1alpha1
kind: MCPTools
metadata: {name: rest, namespace: shop}
spec: {tools: [{name: get, http: {method: GET, path: /v1}}]}
---
apiVersion: cardea.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: more, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: more}]
  jwt:
    providers: [{name: login, issuer: "https://login.example", jwks: {configMapRef: {name: keys, key: jwks}}}]
---
apiVersion: cardea.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: own, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: more, sectionName: own}]
  authentication: {wwwAuthenticate: Own}
---
apiVersion: cardea.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: keys, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: more, sectionName: keys}]
  disable: [jwt]
  apiKey: {keysRefs: [{name: mobiles}]}
---
apiVersion: v1
kind: Secret
metadata: {name: mobiles, namespace: shop}
stringData: {mobile: key-of-mobile}
`

// post asks for a tool that nobody may call, and returns the header of the answer, which has a status.
func (a *agents) post(client *http.Client, path string, header http.Header, status int) http.Header {
	a.t.Helper()
	body := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get-env"}}`
	request, err := http.NewRequest(http.MethodPost, "https://"+a.at(443)+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	request.Host, request.Header = "tools.example", header
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := client.Do(request)
	if err != nil {
		a.t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != status {
		a.t.Errorf("POST %s: %d, want %d", path, response.StatusCode, status)
	}
	return response.Header
}
