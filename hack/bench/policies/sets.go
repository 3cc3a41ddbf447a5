package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// set is features at the level of a Gateway. The Gateway has its name.
type set struct {
	Name  string // of the Gateway
	What  string // for the table
	JWT   bool
	Limit bool
	API   bool // all features of an ordinary API
}

var sets = []set{
	{Name: "none", What: "no policy"},
	{Name: "jwt", What: "jwt", JWT: true},
	{Name: "limit", What: "rateLimits", Limit: true},
	{Name: "both", What: "jwt and rateLimits", JWT: true, Limit: true},
	{Name: "api", What: "an ordinary API's features", JWT: true, Limit: true, API: true},
}

// What each of these features is in a policy's spec.
const (
	jwtSpec = `
  jwt:
    providers:
    - name: corp
      issuer: https://issuer.example
      audiences: [shop]
      jwks: {configMapRef: {name: corp, key: jwks}}`
	limitSpec = `
  rateLimits: [{name: all, requests: 1000000, interval: 1s}]`
	apiSecuritySpec = `
  cors: {allowOrigins: [https://app.example], allowMethods: [GET, POST], allowHeaders: [authorization], maxAge: 600}
  authorization:
    allow:
    - name: members
      matches: [{claims: [{provider: corp, claim: role, type: Exact, values: [member]}]}]`
	apiTrafficSpec = `
  headers: {response: {set: [{name: strict-transport-security, value: max-age=31536000}]}}
  timeouts: {request: 15s}
  retry: {attempts: 2, retryOn: [ConnectFailure], codes: [503]}
  compression: {algorithms: [Gzip]}`
	apiClaims = `
      claimsToHeaders: [{claim: sub, header: x-user}]` // of the provider
)

// policies are the features as policies of a Gateway: of each kind that is needed, one with the Gateway's name.
func (s set) policies(gateway string) (list []policy) {
	var security, traffic string
	if s.JWT {
		security = jwtSpec
	}
	if s.Limit {
		traffic = limitSpec
	}
	if s.API {
		security, traffic = security+apiClaims+apiSecuritySpec, traffic+apiTrafficSpec
	}
	add := func(kind, spec string) {
		if spec != "" {
			list = append(list, policy{kind, gateway, "Gateway", gateway, spec})
		}
	}
	add("SecurityPolicy", security)
	add("TrafficPolicy", traffic)
	return list
}

// writeFolder makes a folder with a Gateway for each set, at these ports, and routes at all of them.
func writeFolder(dir string, ports []int, backend int, keys string) error {
	var text, parents strings.Builder
	for i, s := range sets {
		fmt.Fprintf(&text, `---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: %s, namespace: bench}
spec: {gatewayClassName: cardea, listeners: [{name: http, port: %d, protocol: HTTP}]}
%s`, s.Name, ports[i], texts(s.policies(s.Name)))
		fmt.Fprintf(&parents, "{name: %s}, ", s.Name)
	}
	text.WriteString(keysText(keys))
	fmt.Fprintf(&text, `---
apiVersion: v1
kind: Service
metadata: {name: app, namespace: bench}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: app, namespace: bench, labels: {kubernetes.io/service-name: app}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: [{port: %d}]
`, backend)
	for i := range hosts {
		fmt.Fprintf(&text, `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: app-%d, namespace: bench}
spec: {parentRefs: [%s], hostnames: [%s], rules: [{backendRefs: [{name: app, port: 80}]}]}
`, i, strings.TrimSuffix(parents.String(), ", "), host(i))
	}
	return os.WriteFile(filepath.Join(dir, "objects.yaml"), []byte(text.String()), 0o644)
}
