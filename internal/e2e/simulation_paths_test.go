package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/simulate"
)

// TestPathsAsEnvoyReadsThem sends paths that no client writes to a real Envoy, byte by byte, and wants the simulation to make of them what the
// backend sees: every character and every escape, dots and slashes in all places.
func TestPathsAsEnvoyReadsThem(t *testing.T) {
	t.Parallel()
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) }))
	t.Cleanup(backend.Close)
	_, port, err := net.SplitHostPort(backend.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := strings.ReplaceAll(oneRoute, "${port}", port)
	if err := os.WriteFile(filepath.Join(dir, "web.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p := Start(t, dir)
	p.Ready(t)
	config := simulationOf(t, dir)
	for _, path := range strangePaths() {
		result := config.Do(simulate.Request{Port: Offset + 80, Method: "GET", Host: "any", Path: path})
		status, want := result.Outcomes[0].Status, ""
		if request := result.Outcomes[0].Request; request != nil {
			status, want = http.StatusOK, request.Path
		}
		if gotStatus, got := sendRaw(t, p.Address, path); gotStatus != status || status == http.StatusOK && got != want {
			t.Errorf("%q: Envoy answers %d %q, simulated %d %q", path, gotStatus, got, status, want)
		}
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
		if c == '%' {
			continue // an escape that is none, which the backend can't read
		}
		list = append(list, fmt.Sprintf("/a%cb", c))
	}
	for c := range 0x100 {
		list = append(list, fmt.Sprintf("/a%%%02Xb", c))
	}
	for _, segment := range []string{".", "..", "...", "%2e", "%2E.", ".%2e", "a.", ".a", "..a", "%2e%2e%2e", ""} {
		list = append(list, "/"+segment, "/"+segment+"/", "/x/"+segment+"/y", "/x/y/"+segment, `/x\`+segment+`\y`, "/x/"+segment+"//y?q=/../%2e")
	}
	return append(list, "/%25%32%65", "/a?b?c", "/a;b=c/d", "/a%2f..%2fb", "//../..//a")
}

// sendRaw sends a path as it is.
func sendRaw(t *testing.T, address, path string) (status int, body string) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(address, fmt.Sprint(Offset+80)), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: any\r\nConnection: close\r\n\r\n", path); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%q: %v", path, err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%q: %v", path, err)
	}
	return response.StatusCode, string(b)
}
