package live

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	examplecalls "cardea.dev/cardea/examples/calls"
	"cardea.dev/cardea/internal/app/standalone"
)

// keySet is a public key of nobody's.
const keySet = `{"keys": [{"kty": "EC", "crv": "P-256", "kid": "b", "alg": "ES256", ` +
	`"x": "dy_ZEB0aJGUn2osWcGlDzKT0l_mZLZEkgqCk0NpEn8M", "y": "t-oLvEXzhkbsdRK9wzFOygy9IrdWU2cE8N1ys-3ILeI"}]}`

// TestDetailsOfErrorPages: of a page that replaces an answer the access log has why that answer was made, and nothing
// else; so it has of a gRPC call, which gets no page, of an answer that is not replaced, and of one that ends before
// its body does. A server of logs, which gets Envoy's own details, gets a word for a page, and nothing of the proxy's
// memory.
func TestDetailsOfErrorPages(t *testing.T) {
	t.Parallel()
	log, server := filepath.Join(t.TempDir(), "access.log"), startLogServer(t)
	s := prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80, 81), "blue.yaml", serviceFile("blue", "blue"),
		"logs.yaml", serviceOn("logs", server.port), "policies.yaml", `
apiVersion: cardea.dev/v1alpha1
kind: ClientPolicy
metadata: {name: logs, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web, sectionName: http-81}]
  accessLogs: [{name: audit, grpc: {backendRef: {name: logs, port: 80}}}]
---
apiVersion: cardea.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: pages, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  errorResponses: [{name: all, codes: [4xx, "503"], body: {inline: page}}]
---
apiVersion: cardea.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: closed, namespace: shop}
spec:
  targetRefs:
  - {group: gateway.networking.k8s.io, kind: HTTPRoute, name: web, sectionName: closed}
  - {group: gateway.networking.k8s.io, kind: GRPCRoute, name: calls}
  jwt: {providers: [{name: corp, issuer: "https://corp.example", audiences: [shop], jwks: {inline: '`+keySet+`'}}]}
`, "route.yaml", routeFile("web", "shop.example", ruleAt("closed"), ruleAt("open"))+`---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: calls, namespace: shop}
spec:
  parentRefs: [{name: web}]
  hostnames: [grpc.example]
  rules: [{name: grpc, backendRefs: [{name: blue, port: 80}]}]
`))
	s.start(func(o *standalone.Options) { o.AccessLog = log })
	s.Ready(t)
	const calls = `GET http://shop.example/closed -> 401 body=page x-cardea-details=
GET http://shop.example/open?status=404 -> 404 body=page
GET http://shop.example/open -> 200 blue x-cardea-details=
GRPC http://grpc.example/a.B/C -> UNAUTHENTICATED`
	s.expect(calls)
	s.expect(strings.ReplaceAll(calls, ".example", ".example:81"))
	cut, err := examplecalls.Parse(strings.NewReader("GET http://shop.example/open?cut=1 -> 200"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.Ask(t.Context(), cut[0]); err == nil {
		t.Error("an answer without an end came as a whole")
	}
	e2e.Eventually(t, func() error {
		return server.has("grpc audit httproute/shop/web/closed 401 error_page",
			"grpc audit httproute/shop/web/open 404 error_page", "grpc audit httproute/shop/web/open 200 via_upstream",
			"grpc audit grpcroute/shop/calls/grpc 200 jwt_authn_access_denied{Jwt_is_missing}")
	})
	e2e.Eventually(t, func() error {
		lines, err := logged(log)
		if err != nil {
			return err
		}
		for rule, want := range map[string][]string{
			"closed": {"jwt_authn_access_denied{Jwt_is_missing}"}, "open": {
				"via_upstream", "via_upstream", "upstream_reset_after_response_started{protocol_error}",
			},
			"grpc": {"jwt_authn_access_denied{Jwt_is_missing}"},
		} {
			var got []string
			for _, line := range lines[rule] {
				got = append(got, fmt.Sprint(line["details"]))
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				return fmt.Errorf("details of rule %s are %q, want %q", rule, got, want)
			}
		}
		return nil
	})
}
