package e2e

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/request"
)

// TestSessionsAsEnvoyKeepsThem: where the simulation says that a request of a session goes to one endpoint, a real
// Envoy sends it there, with what that Envoy gave the client; and both say of the same requests that no session is
// kept.
func TestSessionsAsEnvoyKeepsThem(t *testing.T) {
	t.Parallel()
	dir, names := t.TempDir(), map[string]string{} // by port
	text := sessions
	for _, name := range []string{"blue", "green"} {
		port := strconv.Itoa(Backend(t, name))
		names[port] = name
		text = strings.ReplaceAll(text, "${"+name+"}", port)
	}
	if err := os.WriteFile(filepath.Join(dir, "web.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p := Start(t, dir)
	p.Ready(t)
	config := simulationOf(t, dir)
	// simulated tells who may answer, and what keeps the client there.
	simulated := func(path string, header http.Header) (who []string, session string) {
		result := config.SimulateRequest(request.Request{Port: Offset + 80, Method: http.MethodGet, Host: "any", Path: path,
			Header: header})
		if len(result.Outcomes) != 1 || len(result.NotSimulated) > 0 {
			t.Fatalf("GET %s %v: %+v", path, header, result)
		}
		for _, endpoint := range result.Outcomes[0].Endpoints {
			who = append(who, names[endpoint[strings.LastIndexByte(endpoint, ':')+1:]])
		}
		return slices.Sorted(slices.Values(who)), result.Outcomes[0].Session
	}
	ask := func(path string, header http.Header) (who string, given http.Header) {
		request, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://%s:%d%s", p.Address, Offset+80, path), nil)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(request.Header, header)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, response.Body)
		return response.Header.Get("Served-By"), response.Header
	}
	// agree makes a request until all that may answer have, or often enough to see that only one does.
	agree := func(path string, header http.Header, want ...string) {
		t.Helper()
		who, _ := simulated(path, header)
		if !slices.Equal(who, want) {
			t.Errorf("GET %s %v: simulated %v, want %v", path, header, who, want)
		}
		came := map[string]bool{}
		for range 20 {
			name, _ := ask(path, header)
			came[name] = true
		}
		if got := slices.Sorted(maps.Keys(came)); !slices.Equal(got, who) {
			t.Errorf("GET %s %v: %v answered, simulated %v", path, header, got, who)
		}
	}

	for _, c := range []struct{ path, session string }{{"/cookie", "cookie s"}, {"/header", "header x-s"}} {
		agree(c.path, nil, "blue", "green")
		if _, session := simulated(c.path, nil); session != c.session {
			t.Errorf("GET %s: kept by %q, want %q", c.path, session, c.session)
		}
		who, given := ask(c.path, nil)
		back := http.Header{"X-S": given["X-S"]}
		for _, cookie := range (&http.Response{Header: given}).Cookies() {
			back.Add("Cookie", "a=b; "+cookie.Name+"="+cookie.Value)
		}
		agree(c.path, back, who)
	}
	elsewhere := http.Header{"Cookie": {"s=CgsxMC4wLjAuOTo4MA=="}} // "10.0.0.9:80", as Envoy writes it
	agree("/cookie", elsewhere, "blue", "green")
	agree("/cookies", elsewhere, "blue", "green")
	_, session := simulated("/elsewhere", nil)
	if _, given := ask("/elsewhere", nil); session != "" || given.Get("Set-Cookie") != "" {
		t.Errorf("beside a cookie's path there is a session: Envoy gives %q, simulated %q", given.Get("Set-Cookie"), session)
	}
}

const sessions = `
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
  rules:
  - matches: [{path: {value: /header}}]
    sessionPersistence: {type: Header, header: {name: x-s}}
    backendRefs: [{name: both, port: 80}]
  - matches: [{path: {value: /cookie}}, {path: {type: Exact, value: /cookies}}]
    sessionPersistence: {type: Cookie, cookie: {name: s}}
    backendRefs: [{name: both, port: 80}]
  - matches: [{path: {value: /elsewhere}}]
    sessionPersistence: {type: Cookie, cookie: {name: s, path: /there}}
    backendRefs: [{name: both, port: 80}]
---
apiVersion: v1
kind: Service
metadata: {name: both}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: blue, labels: {kubernetes.io/service-name: both}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: [{port: ${blue}}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: green, labels: {kubernetes.io/service-name: both}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: [{port: ${green}}]
`
