package e2e

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/testcert"
)

// agents is a real server of tools behind a stage, and real clients with certificates.
type agents struct {
	*stage
	program string // examples/agents/mcp
	ca      testcert.Pair
	dir     string // of certificates
}

// prepareAgents starts the server. The caller writes policies, and starts the stage.
func prepareAgents(t *testing.T) *agents {
	t.Helper()
	program := builtIn(t, "mcp", "../../examples/agents/mcp")
	a := &agents{program: program, ca: testcert.Authority("agents"), dir: t.TempDir()}
	process := exec.Command(a.program, "serve")
	out, err := process.StdoutPipe()
	if err == nil {
		err = process.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	var address string
	if _, err := fmt.Fscan(out, &address); err != nil {
		t.Fatalf("the server of tools tells no address: %v", err)
	}
	a.stage = prepare(t, t.TempDir(), archive())
	var port int
	if _, err := fmt.Sscanf(address, "127.0.0.1:%d", &port); err != nil {
		t.Fatal(err)
	}
	a.ports["tools"] = port
	server := a.ca.Server("tools.example")
	a.file("ca", a.ca.Certificate)
	a.write("gateway.yaml", strings.Replace(gatewayFile(80), "spec:\n", "spec:\n  tls: {frontend: {default: {validation: "+
		"{caCertificateRefs: "+ofConfigMap("agents")+"}}}}\n", 1)+
		"  - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: shop}]}}\n")
	a.write("secret.yaml", secretFile(server.Certificate, server.PrivateKey))
	a.write("authority.yaml", configMapFile("agents", "ca.crt", a.ca.Certificate))
	a.write("tools.yaml", serviceFile("tools", "tools"))
	a.write("backend.yaml", "{apiVersion: agentic.networking.x-k8s.io/v0alpha0, kind: XBackend, metadata: {name: tools, "+
		"namespace: shop}, spec: {mcp: {serviceName: tools, port: 80, path: /}}}\n")
	a.write("route.yaml", `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec:
  parentRefs: [{name: web}]
  hostnames: [tools.example]
  rules:
  - name: tools
    matches: [{path: {value: /mcp}}]
    backendRefs: [{group: agentic.networking.x-k8s.io, kind: XBackend, name: tools}]
`)
	return a
}

func (a *agents) file(name string, text []byte) string {
	a.t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

// certificate makes one with URIs, and its files.
func (a *agents) certificate(name string, uris ...string) {
	template := x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, u := range uris {
		parsed, err := url.Parse(u)
		if err != nil {
			a.t.Fatal(err)
		}
		template.URIs = append(template.URIs, parsed)
	}
	pair := testcert.New(template, &a.ca)
	a.file(name+".crt", pair.Certificate)
	a.file(name+".key", pair.PrivateKey)
}

// session makes a session as a caller, with a line for each thing to do, and returns what came of them.
func (a *agents) session(as string, lines ...string) (string, error) {
	client := exec.CommandContext(a.t.Context(), a.program, "call", "https://tools.example:443/mcp")
	client.Env = append(os.Environ(), "CA="+filepath.Join(a.dir, "ca"), "CERT="+filepath.Join(a.dir, as+".crt"),
		"KEY="+filepath.Join(a.dir, as+".key"), "ADDRESS="+a.at(443))
	client.Stdin = strings.NewReader(strings.Join(lines, "\n"))
	var wrong bytes.Buffer
	client.Stderr = &wrong
	out, err := client.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, wrong.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// TestAgents: real clients call the tools that they may, and live on when they are refused one.
func TestAgents(t *testing.T) {
	t.Parallel()
	a := prepareAgents(t)
	a.certificate("first", "spiffe://cluster.local/ns/shop/sa/first")
	a.certificate("second", "spiffe://cluster.local/ns/shop/sa/second")
	a.certificate("both", "spiffe://cluster.local/ns/shop/sa/first", "spiffe://cluster.local/ns/shop/sa/second")
	a.write("policy.yaml", `apiVersion: cardea.dev/v1alpha1
kind: AccessPolicy
metadata: {name: tools, namespace: shop}
spec:
  targetRefs: [{group: agentic.networking.x-k8s.io, kind: XBackend, name: tools}]
  rules:
  - name: sessions
    authorization: {type: Inline, mcp: {mcpBaseProtocolMethodsOption: MATCH_BASE_PROTOCOL_METHODS}}
  - name: sums
    sources: [{type: ServiceAccount, serviceAccount: {name: first}}]
    authorization: {type: Inline, mcp: {methods: [{name: tools/call, params: [{value: get-sum}]}]}}
  - name: orders
    sources: [{type: ServiceAccount, serviceAccount: {name: second}}]
    authorization:
      type: Inline
      mcp: {methods: [{name: tools/call, params: [{value: order}], arguments: [{path: amount, range: {max: 10}}]}]}
`)
	a.start()
	a.Ready(t)
	const refused = "Access to this tool is forbidden."
	for _, c := range []struct {
		as    string
		lines []string
		want  []string
	}{
		{"first", []string{`list`, `call get-sum {"a":1,"b":2}`, `call get-env {}`, `call get-sum {"a":2,"b":2}`},
			[]string{"get-sum", "3", refused, "4"}},
		{"second", []string{`list`, `call get-sum {"a":1,"b":2}`, `call order {"item":"tea","amount":10}`,
			`call order {"item":"tea","amount":11}`},
			[]string{"order", refused, "ordered 10 of tea", refused}},
		{"both", []string{`call get-sum {"a":1,"b":2}`, `call order {"item":"tea","amount":1}`}, []string{refused, refused}},
	} {
		got, err := a.session(c.as, c.lines...)
		if err != nil {
			t.Errorf("%s: %v", c.as, err)
			continue
		}
		lines := strings.Split(got, "\n")
		for i, want := range c.want {
			if i >= len(lines) || !strings.Contains(lines[i], want) || c.lines[i] == "list" && lines[i] != want {
				t.Errorf("%s: %s: %q, want %q", c.as, c.lines[i], got, want)
			}
		}
	}
}
