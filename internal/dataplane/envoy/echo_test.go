package envoy

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"cardea.dev/cardea/internal/core/model"
)

// seen is what a backend saw of a request.
type seen struct {
	Backend string
	Method  string
	Host    string
	URI     string
	Header  http.Header
}

// startBackend starts a backend that tells what it saw.
func startBackend(t *testing.T, name string) model.Endpoint {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("From-Backend", name)
		w.Header().Set("Many", "backend")
		_ = json.NewEncoder(w).Encode(seen{Backend: name, Method: r.Method, Host: r.Host, URI: r.RequestURI,
			Header: r.Header})
	}))
	t.Cleanup(s.Close)
	addr := s.Listener.Addr().(*net.TCPAddr)
	return model.Endpoint{Address: addr.IP.String(), Port: int32(addr.Port)}
}
