package live

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/app/standalone"
)

// TestHealthCheckOfADrainingProxy: the path of a ClientPolicy's healthCheck is answered with 503 once a proxy drains,
// as before the end of its pod; requests are served until the end.
func TestHealthCheckOfADrainingProxy(t *testing.T) {
	t.Parallel()
	work := filepath.Join(t.TempDir(), "w")
	s := withClientPolicy(t, "healthCheck: {path: /ready}", func(o *standalone.Options) { o.WorkDir = work })
	s.expect("GET http://shop.example/ready -> 200\nGET http://shop.example/a -> 200 blue")
	response, err := adminOf(t, work).Post("http://envoy/healthcheck/fail", "", strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("the proxy answered %s", response.Status)
	}
	s.expect("GET http://shop.example/ready -> 503\nGET http://shop.example/a -> 200 blue")
}
