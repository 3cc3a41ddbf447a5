package controller

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestABusyAPIServer: an API server that asks for an hour's pause is asked again by everybody who has something to
// do: nobody sleeps in the client library, which would hold up a rotation of certificates, or every Gateway for the
// sake of one.
func TestABusyAPIServer(t *testing.T) {
	asked := make(chan string, 10_000)
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
		select {
		case asked <- r.URL.Path:
		default: // it was enough
		}
	}))
	defer busy.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	run := options(t, busy.URL)
	go func() { ended <- Run(ctx, run) }()
	who := map[string]int{
		"/apis/apps/v1/deployments":                           0, // deploy
		"/api/v1/namespaces/cardea-system/secrets/cardea-xds": 0, // certs
		"/api/v1/namespaces":                                  0, // kube, of which it reads the metadata
		"/apis/gateway.networking.k8s.io/v1/gateways":         0, // kube and status
	}
	timeout := time.After(time.Minute)
	for again := false; !again; {
		select {
		case path := <-asked:
			if _, known := who[path]; known {
				who[path]++
			}
		case <-timeout:
			t.Fatalf("how often they have asked: %v", who)
		}
		again = true
		for _, times := range who {
			again = again && times > 1
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
