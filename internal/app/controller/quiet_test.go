package controller

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/klog/v2"

	"cardea.dev/cardea/internal/app/dataplanes"
)

// TestQuietWhileTheAPIServerIsAway: what keeps on failing is said by Cardea's own log, not by the client library's on
// standard error.
func TestQuietWhileTheAPIServerIsAway(t *testing.T) {
	asked := make(chan struct{}, 1000)
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		select {
		case asked <- struct{}{}:
		default: // it was enough
		}
	}))
	defer away.Close()
	run := options(t, away.URL)
	said := &safeBuffer{}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	if err := flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"}); err != nil {
		t.Fatal(err)
	}
	klog.SetOutput(said)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- Run(ctx, run)
	}()
	for range 60 { // all have asked several times
		select {
		case <-asked:
		case <-time.After(time.Minute):
			t.Fatal("nobody asks")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	klog.Flush()
	if text := said.String(); text != "" {
		t.Errorf("the client library says:\n%s", text)
	}
}

type safeBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// options serve the cluster of an API server.
func options(t *testing.T, url string) Options {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "%s"}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
`, url), 0o600); err != nil {
		t.Fatal(err)
	}
	return Options{
		Dialects:   dataplanes.All(),
		Kubeconfig: config, Namespace: "cardea-system", Service: "cardea", XDSPort: 18000, XDS: "127.0.0.1:0", Image: "envoy",
		ClusterDomain: "cluster.local",
		Admin:         "127.0.0.1:0", Probes: "127.0.0.1:0",
	}
}
