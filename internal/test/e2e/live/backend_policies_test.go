package live

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// TestConnectionTakesSoManyRequests: a connection to a backend takes as many requests as its BackendPolicy says, also
// when the policy comes later.
func TestConnectionTakesSoManyRequests(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	backend := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	backend.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	backend.Start()
	t.Cleanup(backend.Close)
	s := prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80)))
	s.ports["own"] = backend.Listener.Addr().(*net.TCPAddr).Port
	s.write("own.yaml", serviceFile("own", "own"))
	s.write("route.yaml", routeFile("web", "shop.example", to("own")))
	s.write("policy.yaml", `
apiVersion: cardea.dev/v1alpha1
kind: BackendPolicy
metadata: {name: one, namespace: shop}
spec: {targetRefs: [{group: "", kind: Service, name: own}], connection: {maxRequests: 1}}
`)
	s.start()
	s.Ready(t)
	opened.Store(0)
	const requests = 5
	for range requests {
		s.soon("GET http://shop.example/ -> 200")
	}
	if n := opened.Load(); n != requests {
		t.Errorf("%d connections were opened for %d requests, want one for each", n, requests)
	}
}
