package e2e

import (
	"fmt"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/dataplane/envoy/simulate"
)

// TestPathsAsEnvoyReadsThem sends paths that no client writes to a real Envoy, byte by byte, and wants the simulation
// to make of them what the backend sees: every character and every escape, dots and slashes in all places.
func TestPathsAsEnvoyReadsThem(t *testing.T) {
	t.Parallel()
	s := startRaw(t, oneRoute)
	for _, path := range strangePaths() {
		s.agree(t, request.Request{Method: "GET", Host: "any", Path: path})
	}
}

// simulationOf is the configuration of Gateway default/web, as the objects of a folder make it.
func simulationOf(t *testing.T, dir string) (config *simulate.Config) {
	t.Helper()
	w := pureWorld(t, dir)
	w.Graph.View(func(v flow.View) {
		configs, err := simulations(w, v)
		if err != nil {
			t.Fatal(err)
		}
		config = configs[model.Ref(model.KindGateway, "default", "web")]
	})
	return config
}

const oneRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: cardea, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web}
spec:
  parentRefs: [{name: web}]
  rules: [{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: app}]}]
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: app}
spec: {type: ExternalHostname, port: {number: ${port}}, externalHostname: {hostname: localhost}}
`

func strangePaths() []string {
	var list []string
	for c := 0x21; c < 0x7f; c++ {
		list = append(list, fmt.Sprintf("/a%cb", c))
	}
	for c := range 0x100 {
		list = append(list, fmt.Sprintf("/a%%%02Xb", c))
	}
	for _, segment := range []string{".", "..", "...", "%2e", "%2E.", ".%2e", "a.", ".a", "..a", "%2e%2e%2e", ""} {
		list = append(list, "/"+segment, "/"+segment+"/", "/x/"+segment+"/y", "/x/y/"+segment, `/x\`+segment+`\y`,
			"/x/"+segment+"//y?q=/../../%2e")
	}
	return append(list, "/%25%32%65", "/a?b?c", "/a;b=c/d", "/a%2f..%2fb", "//../..//a", "///", "//?a", "/a//",
		"///a///b?//", "/%2F", "//%2f/", "/%5c%2f..//a", "/a%2F%2Fb//c?%2F//", "/a/..%2F../../%2e%2e%5cb", "/%252F",
		"/%%2F2F", "/a%2", "/a%2f%00")
}
