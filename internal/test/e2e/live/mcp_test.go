package live

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/test/testcert"
)

// agents is a real server of tools behind a stage, and real clients with certificates.
type agents struct {
	*stage
	ca  testcert.Pair
	dir string // of certificates
}

// toolServer is a real server of tools: get-sum, get-env, which tells a secret, and others.
type toolServer struct {
	name    string
	command *exec.Cmd
	path    string // where it takes messages
	sum     string // what get-sum says of 1 and 2
}

func goServer(t testing.TB) toolServer {
	program := e2e.GoAgent(t).Command[0]
	return toolServer{name: "Go", command: exec.Command(program, "serve"), path: "/", sum: "3"}
}

func typeScriptServer(t testing.TB) toolServer {
	server := e2e.ReferenceServer(t)
	command := server.Run(t)
	command.Env = append(server.Env, "TOLD_BY_GET_ENV=secret") // and nothing else that it could tell
	return toolServer{name: "TypeScript", command: command, path: "/mcp", sum: "The sum of 1 and 2 is 3."}
}

// prepareAgents starts a server of tools. The caller writes policies, and starts the stage.
func prepareAgents(t *testing.T, server toolServer) *agents {
	t.Helper()
	a := &agents{stage: prepare(t, t.TempDir(), archive()), ca: testcert.NewAuthority("agents"), dir: t.TempDir()}
	_, port, _ := net.SplitHostPort(e2e.Started(t, server.command))
	a.ports["tools"], _ = strconv.Atoi(port)
	certificate := a.ca.NewServer("tools.example")
	a.file("ca", a.ca.Certificate)
	a.write("gateway.yaml", strings.Replace(gatewayFile(80), "spec:\n", "spec:\n  tls: {frontend: {default: {validation: "+
		"{caCertificateRefs: "+ofConfigMap("agents")+"}}}}\n", 1)+
		"  - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: shop}]}}\n")
	a.write("secret.yaml", secretFile(certificate.Certificate, certificate.PrivateKey))
	a.write("authority.yaml", configMapFile("agents", "ca.crt", a.ca.Certificate))
	a.toTools("tools.example", server.path)
	return a
}

// toTools writes a route from a host to the XBackend tools, which takes messages at a path.
func (s *stage) toTools(host, path string) {
	s.t.Helper()
	s.write("tools.yaml", serviceFile("tools", "tools"))
	s.write("backend.yaml", "{apiVersion: agentic.networking.x-k8s.io/v0alpha0, kind: XBackend, metadata: {name: tools, "+
		"namespace: shop}, spec: {mcp: {serviceName: tools, port: 80, path: "+path+"}}}\n")
	s.write("route.yaml", routeFile("web", host, "{name: tools, matches: [{path: {value: /mcp}}], backendRefs: "+
		"[{group: agentic.networking.x-k8s.io, kind: XBackend, name: tools}]}"))
}

// toolsPolicyFile is an AccessPolicy for the XBackend tools: everybody may begin sessions, and what rules say, which
// are written in YAML's flow style.
func toolsPolicyFile(rules ...string) string {
	return `apiVersion: cardea.dev/v1alpha1
kind: AccessPolicy
metadata: {name: tools, namespace: shop}
spec:
  targetRefs: [{group: agentic.networking.x-k8s.io, kind: XBackend, name: tools}]
  rules:
  - name: sessions
    authorization: {type: Inline, mcp: {mcpBaseProtocolMethodsOption: MATCH_BASE_PROTOCOL_METHODS}}
  - ` + strings.Join(rules, "\n  - ") + "\n"
}

// toolRule allows some tools to whom source says; "" is everybody.
func toolRule(name, source string, tools ...string) string {
	if source != "" {
		source = "sources: [" + source + "], "
	}
	return "{name: " + name + ", " + source + "authorization: {type: Inline, mcp: {methods: [{name: tools/call, " +
		"params: [" + strings.Join(tools, ", ") + "]}]}}}"
}

// account is a source: who has the certificate of a ServiceAccount.
func account(name string) string {
	return "{type: ServiceAccount, serviceAccount: {name: " + name + "}}"
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

// session lets an agent make a session as a caller, with a line for each thing to do, and returns what came of them.
func (a *agents) session(agent e2e.Agent, as string, lines ...string) ([]string, error) {
	client := agent.Run(a.t, "https://tools.example:443/mcp")
	client.Env = append(client.Env, "CA="+filepath.Join(a.dir, "ca"), "CERT="+filepath.Join(a.dir, as+".crt"),
		"KEY="+filepath.Join(a.dir, as+".key"), "ADDRESS="+a.at(443))
	client.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var wrong bytes.Buffer
	client.Stderr = &wrong
	out, err := client.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s%s", err, out, wrong.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), nil
}

// forbiddenTool is what is said of a tool that the caller may not call.
const forbiddenTool = "Access to this tool is forbidden."

// answered tells whether an answer to a line is what is wanted: a list whole, else in some words.
func answered(line, got, want string) bool {
	return got == want || line != "list" && strings.Contains(got, want)
}

// does lets an agent make a session, and checks what came of each line: lines and wanted alternate.
func (a *agents) does(agent e2e.Agent, as string, linesAndWanted ...string) {
	a.t.Helper()
	var lines, wanted []string
	for i := 0; i < len(linesAndWanted); i += 2 {
		lines, wanted = append(lines, linesAndWanted[i]), append(wanted, linesAndWanted[i+1])
	}
	got, err := a.session(agent, as, lines...)
	if err != nil || len(got) != len(lines) {
		a.t.Errorf("%s as %s: %d answers to %d lines, %v: %q", agent.Name, as, len(got), len(lines), err, got)
		return
	}
	for i, line := range lines {
		if !answered(line, got[i], wanted[i]) {
			a.t.Errorf("%s as %s: %s: %q, want %q", agent.Name, as, line, got[i], wanted[i])
		}
	}
}

// TestAgents: real clients call the tools that they may, and live on when they are refused one.
func TestAgents(t *testing.T) {
	t.Parallel()
	a, agent := prepareAgents(t, goServer(t)), e2e.GoAgent(t)
	a.certificate("first", "spiffe://cluster.local/ns/shop/sa/first")
	a.certificate("second", "spiffe://cluster.local/ns/shop/sa/second")
	a.certificate("both", "spiffe://cluster.local/ns/shop/sa/first", "spiffe://cluster.local/ns/shop/sa/second")
	a.write("policy.yaml", toolsPolicyFile(toolRule("sums", account("first"), "{value: get-sum}"),
		"{name: orders, sources: ["+account("second")+"], authorization: {type: Inline, mcp: {methods: [{name: tools/call, "+
			"params: [{value: order}], arguments: [{path: amount, range: {max: 10}}]}]}}}"))
	a.start()
	a.Ready(t)
	a.does(agent, "first", `list`, "get-sum", `call get-sum {"a":1,"b":2}`, "3", `call get-env {}`, forbiddenTool,
		`call get-sum {"a":2,"b":2}`, "4")
	a.does(agent, "second", `list`, "order", `call get-sum {"a":1,"b":2}`, forbiddenTool,
		`call order {"item":"tea","amount":10}`, "ordered 10 of tea", `call order {"item":"tea","amount":11}`, forbiddenTool)
	a.does(agent, "both", `call get-sum {"a":1,"b":2}`, forbiddenTool,
		`call order {"item":"tea","amount":1}`, forbiddenTool)
}

// TestAgentsOfThreeLanguages: before a real server, clients of each SDK list the tools that they may call, call one,
// are refused one, and call the first again in the same session.
func TestAgentsOfThreeLanguages(t *testing.T) {
	t.Parallel()
	clients, server := append(e2e.Agents(t), e2e.TypeScript2Agents(t)...), typeScriptServer(t)
	log := new(lockedBuffer)
	server.command.Stderr = log
	a := prepareAgents(t, server)
	a.certificate("agent", "spiffe://cluster.local/ns/shop/sa/agent")
	a.write("policy.yaml", toolsPolicyFile(toolRule("some", account("agent"), "{value: get-sum}", "{value: echo}")))
	a.start()
	a.Ready(t)
	for _, agent := range clients {
		a.does(agent, "agent", `list`, "echo get-sum", `call get-sum {"a":1,"b":2}`, "The sum of 1 and 2 is 3.",
			`call get-env {}`, forbiddenTool, `call echo {"message":"still here"}`, "Echo: still here")
	}
	const begun, ended = "Session initialized", "Transport closed"
	e2e.Eventually(t, func() error {
		text := log.String()
		if strings.Count(text, begun) != len(clients) || strings.Count(text, ended) != len(clients) {
			return fmt.Errorf("%d clients do not have a session each that they begin and end:\n%s", len(clients), text)
		}
		return nil
	})
}

// TestAgentsOfBothEras: before a server that speaks the protocol of 2026-07-28 and older ones, clients of each SDK do
// the same, each in the protocol that it speaks in its default mode: the access log has how each of them begins.
func TestAgentsOfBothEras(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "access.log")
	clients, server := append(e2e.Agents(t), e2e.TypeScript2Agents(t)...), goServer(t)
	server.command.Env = append(os.Environ(), "STATELESS=1")
	a := prepareAgents(t, server)
	a.write("policy.yaml", toolsPolicyFile(toolRule("some", "{type: TrustDomain, trustDomain: cluster.local}",
		"{value: get-sum}")))
	a.start(func(o *standalone.Options) { o.AccessLog = log })
	a.Ready(t)
	begins := map[string]string{
		"Go": "server/discover", "Python": "server/discover", "TypeScript": "initialize", "TypeScript-2": "initialize",
		"TypeScript-2-auto": "server/discover",
	}
	for _, agent := range clients {
		a.certificate(agent.Name, "spiffe://cluster.local/ns/shop/sa/"+agent.Name)
		a.does(agent, agent.Name, `list`, "get-sum", `call get-sum {"a":1,"b":2}`, "3", `call get-env {}`, forbiddenTool,
			`call get-sum {"a":2,"b":2}`, "4")
	}
	e2e.Eventually(t, func() error {
		lines, err := logged(log)
		if err != nil {
			return err
		}
		began := map[string]string{}
		for _, line := range lines["tools"] {
			by := strings.TrimPrefix(fmt.Sprint(line["caller"]), "spiffe://cluster.local/ns/shop/sa/")
			if m := line["mcpMethod"]; m == "initialize" || m == "server/discover" {
				began[by] += fmt.Sprint(m)
			}
		}
		if !maps.Equal(began, begins) {
			err = fmt.Errorf("clients begin with %v, want %v", began, begins)
		}
		return err
	})
}

// lockedBuffer is a buffer that can be read while it is written to.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
