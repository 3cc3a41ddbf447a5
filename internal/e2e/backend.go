package e2e

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
)

// Backend answers every request with what it saw, in the form that examples/calls reads, and its name.
func Backend(t testing.TB, name string) (port int) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": name, "method": r.Method, "path": r.URL.Path, "query": r.URL.RawQuery, "host": r.Host, "headers": r.Header,
		})
	}))
	t.Cleanup(server.Close)
	_, text, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	port, err = strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return port
}
