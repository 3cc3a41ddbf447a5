package servers

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestWhyThereAreNoMetrics: an answer without metrics says what it is, and where they have to be.
func TestWhyThereAreNoMetrics(t *testing.T) {
	for want, c := range map[string]struct {
		status int
		to     string
	}{
		"204 No Content; it has no page":                    {http.StatusNoContent, ""},
		"redirects to http://elsewhere.example/metrics":     {http.StatusFound, "http://elsewhere.example/metrics"},
		"redirects to https://127.0.0.1":                    {http.StatusMovedPermanently, "https://127.0.0.1/metrics"},
		"redirects more than 3 times: serve the metrics at": {http.StatusFound, "/metrics"},
		"404 Not Found": {http.StatusNotFound, ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.to != "" {
				w.Header().Set("Location", c.to)
			}
			w.WriteHeader(c.status)
		}))
		s, err := New(DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.fetchState(t.Context(), server.Listener.Addr().String())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		server.Close()
	}
}
