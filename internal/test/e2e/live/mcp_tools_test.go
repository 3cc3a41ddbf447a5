package live

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"
)

// TestToolsOfREST: real clients of MCP list and call the tools of a REST backend, those that an access policy of the
// route lets them; an edit of the OpenAPI document is an edit of the tools, and a mistake in it closes the rule alone.
func TestToolsOfREST(t *testing.T) {
	t.Parallel()
	a, agent := prepareAgents(t, goServer(t)), e2e.GoAgent(t)
	a.certificate("first", "spiffe://cluster.local/ns/shop/sa/first")
	a.certificate("second", "spiffe://cluster.local/ns/shop/sa/second")
	a.write("blue.yaml", serviceFile("blue", "blue"))
	a.write("tools-of-blue.yaml", `apiVersion: cardea.dev/v1alpha1
kind: MCPTools
metadata: {name: users, namespace: shop}
spec:
  tools:
  - name: get-user
    description: Finds a user.
    http: {method: GET, path: "/v1/users/{id}", headers: [{name: x-tenant, argument: tenant}]}
  openAPI: {configMapRef: {name: users, key: openapi.json}}
`)
	document := func(more string) {
		a.write("document.yaml", configMapFile("users", "openapi.json", []byte(`{"openapi":"3.0.3",`+
			`"servers":[{"url":"/v1"}],"paths":{"/users/{id}":{"delete":{"operationId":"delete-user",`+
			`"parameters":[{"name":"id","in":"path",`+
			`"required":true,"schema":{"type":"string"}}]}}`+more+`}}`)))
	}
	document("")
	a.write("route.yaml", `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec:
  parentRefs: [{name: web}]
  hostnames: [tools.example]
  rules:
  - name: tools
    matches: [{path: {value: /mcp}}]
    filters: [{type: ExtensionRef, extensionRef: {group: cardea.dev, kind: MCPTools, name: users}}]
    backendRefs: [{name: blue, port: 80}]
---
`+routeFile("plain", "plain.example", to("blue")))
	a.write("policy.yaml", `apiVersion: cardea.dev/v1alpha1
kind: AccessPolicy
metadata: {name: tools, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web}]
  rules:
  - name: sessions
    authorization: {type: Inline, mcp: {mcpBaseProtocolMethodsOption: MATCH_BASE_PROTOCOL_METHODS}}
  - name: readers
    sources: [{type: ServiceAccount, serviceAccount: {name: first}}]
    authorization:
      type: Inline
      mcp: {methods: [{name: tools/call, params: [{value: get-user}, {type: Prefix, value: list-}]}]}
`)
	a.start()
	a.Ready(t)
	a.does(agent, "first",
		`list`, "get-user",
		`call get-user {"id":"7","tenant":"x"}`, `"path":"/v1/users/7"`,
		`call delete-user {"id":"7"}`, forbiddenTool,
		`call get-user {"id":"8"}`, `"path":"/v1/users/8"`,
		`call get-user {}`, "Could not find value for path: id")
	a.does(agent, "second", `list`, "")
	a.does(agent, "second", `call get-user {"id":"7"}`, forbiddenTool)
	for _, want := range []string{`"Service shop/blue"`, "get-user"} {
		if said := a.access("shop/blue"); !strings.Contains(said, want) {
			t.Errorf("who may call what of the Service: %s, want %s", said, want)
		}
	}

	document(`,"/users":{"get":{"operationId":"list-users","parameters":[{"name":"page","in":"query","schema":{}}]}}`)
	e2e.Eventually(t, func() error { return a.listed(agent, "first", "get-user list-users") })
	a.does(agent, "first", `call list-users {"page":2}`, `"query":"page=2"`)

	document(`,"/users":{"get":{"operationId":"list-users","parameters":[{"$ref":"https://a.example/page"}]}}`)
	a.soon("POST http://tools.example/mcp -> 500")
	a.says("mcptools/shop/users", "web: Accepted=False Invalid: spec.openAPI: the operation list-users")
	a.expect("GET http://plain.example/ -> 200 blue")
	document("")
	e2e.Eventually(t, func() error { return a.listed(agent, "first", "get-user") })
}

// TestToolsOfRESTOfThreeLanguages: clients of each SDK, in the mode that they have by default, list the tools of a REST
// backend and call one, in the protocol that they agree on: Go, Python and TypeScript 2 that may choose in that of
// 2026-07-28, the others in an older one.
func TestToolsOfRESTOfThreeLanguages(t *testing.T) {
	t.Parallel()
	clients, a := append(e2e.Agents(t), e2e.TypeScript2Agents(t)...), prepareAgents(t, goServer(t))
	a.certificate("agent", "spiffe://cluster.local/ns/shop/sa/agent")
	a.write("blue.yaml", serviceFile("blue", "blue"))
	a.write("tools-of-blue.yaml", `apiVersion: cardea.dev/v1alpha1
kind: MCPTools
metadata: {name: users, namespace: shop}
spec:
  tools:
  - name: get-user
    inputSchema: {properties: {id: {type: string}, page: {type: [integer, "null"]}}, required: [id]}
    http: {method: GET, path: "/v1/users/{id}"}
  - {name: delete-user, http: {method: DELETE, path: "/v1/users/{id}"}}
`)
	a.write("route.yaml", routeFile("web", "tools.example", "{name: tools, matches: [{path: {value: /mcp}}], filters: "+
		"[{type: ExtensionRef, extensionRef: {group: cardea.dev, kind: MCPTools, name: users}}], backendRefs: "+
		"[{name: blue, port: 80}]}"))
	open := []string{`list`, "delete-user get-user",
		`call get-user {"id":"7","page":null}`, `"path":"/v1/users/7","query":""`,
		`call get-user {"id":"8","page":2}`, `"query":"page=2"`}
	a.start()
	a.Ready(t)
	for _, agent := range clients {
		a.does(agent, "agent", open...)
	}
	a.write("policy.yaml", strings.Replace(toolsPolicyFile(toolRule("some", "", "{value: get-user}")),
		"group: agentic.networking.x-k8s.io, kind: XBackend, name: tools",
		"group: gateway.networking.k8s.io, kind: HTTPRoute, name: web", 1))
	e2e.Eventually(t, func() error { return a.listed(clients[0], "agent", "get-user") })
	for _, agent := range clients {
		a.does(agent, "agent", `list`, "get-user", `call get-user {"id":"7"}`, `"path":"/v1/users/7"`,
			`call delete-user {"id":"7"}`, forbiddenTool, `call get-user {"id":"8"}`, `"path":"/v1/users/8"`)
	}
}

// access is what the admin API tells of who may call what.
func (a *agents) access(backend string) string {
	a.t.Helper()
	response, err := http.Get(a.Admin + "/access/" + backend)
	if err != nil {
		a.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(text)
}

// listed tells whether a caller sees some tools.
func (a *agents) listed(agent e2e.Agent, as, want string) error {
	got, err := a.session(agent, as, "list")
	if err == nil && strings.Join(got, " ") != want {
		err = fmt.Errorf("%s sees %q, want %q", as, got, want)
	}
	return err
}
