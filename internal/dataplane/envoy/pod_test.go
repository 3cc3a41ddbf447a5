package envoy

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/test/testcert"
)

// podFiles are the files of the golden, as in a pod.
func podFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := bootstrap.RenderPod(dataplane.PodOptions{
		NodeCluster: "shop/web", ServerHost: "cardea.cardea-system.svc", ServerPort: 18000,
		ServerName: "cardea.cardea-system.svc",
		ConfigDir:  "/etc/cardea", CAPath: "/etc/cardea/ca.crt", TokenPath: "/var/run/secrets/cardea.dev/token",
		AdminSocket:  "/tmp/admin",
		ProbeAddress: "0.0.0.0", ProbePort: 19003, MetricsPort: 19001,
		ReadyPath: "/ready", LivePath: "/live", DrainPath: "/drain/secret",
		Drain: 10 * time.Second, AfterDrain: 5 * time.Second, Memory: 1 << 30,
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestPodBootstrap(t *testing.T) {
	files := podFiles(t)
	for name, text := range files {
		golden := filepath.Join("testdata", "pod", name)
		if *update {
			if err := os.WriteFile(golden, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, want) {
			t.Errorf("%s is\n%s", name, text)
		}
	}
	if len(files) != 3 {
		t.Errorf("%d files", len(files))
	}
	good := dataplane.PodOptions{
		ServerHost: "s", ServerPort: 1, ServerName: "s", ConfigDir: "/c", CAPath: "/c/ca", TokenPath: "/t/t",
		AdminSocket:  "/a",
		ProbeAddress: "0.0.0.0", ProbePort: 2, MetricsPort: 3,
	}
	if _, err := bootstrap.RenderPod(good); err != nil {
		t.Error(err)
	}
	for _, spoil := range []func(*dataplane.PodOptions){
		func(c *dataplane.PodOptions) { c.ServerHost = "" }, func(c *dataplane.PodOptions) { c.ServerPort = 0 },
		func(c *dataplane.PodOptions) { c.ServerName = "" },
		func(c *dataplane.PodOptions) { c.ConfigDir = "" }, func(c *dataplane.PodOptions) { c.CAPath = "" },
		func(c *dataplane.PodOptions) { c.TokenPath = "" },
		func(c *dataplane.PodOptions) { c.AdminSocket = "" }, func(c *dataplane.PodOptions) { c.ProbeAddress = "" },
		func(c *dataplane.PodOptions) { c.ProbePort = 0 }, func(c *dataplane.PodOptions) { c.MetricsPort = 0 },
	} {
		bad := good
		spoil(&bad)
		if _, err := bootstrap.RenderPod(bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestPodCommand(t *testing.T) {
	got := strings.Join(bootstrap.PodCommand("/etc/cardea", "debug", "$(POD_NAME)"), " ")
	want := "envoy --disable-hot-restart --drain-time-s 60 --drain-strategy gradual --log-level debug " +
		"--config-path /etc/cardea/envoy.json --service-node $(POD_NAME)"
	if got != want {
		t.Errorf("the command is %q, want %q", got, want)
	}
}

// TestPodEnvoyAuthenticates starts an Envoy and changes its token and the authority of its server, first to one that
// signs with a new key under a bundle of both, then to the new one alone. Each time the next stream works.
func TestPodEnvoyAuthenticates(t *testing.T) {
	state, _ := podWorld(t)
	old, next := testcert.NewAuthority("old"), testcert.NewAuthority("new")
	server := newPodServer(t, state, serves(old, podServerName))
	e := startPodEnvoy(t, server, old.Certificate, "first")
	e.awaitReady()
	if got := server.awaitStream(t, 0); got != "Bearer first pod-1 shop/web" {
		t.Errorf("the first stream is of %q", got)
	}
	for status, path := range map[int]string{http.StatusOK: "/live", http.StatusNotFound: "/stats"} {
		if got, body := e.probe(path); got != status {
			t.Errorf("%s: %d %s, want %d", path, got, body, status)
		}
	}

	// Envoy reads a changed file when it hears of it. Until then it opens streams with the old one.
	streams := 1
	untilToken := func(certificate *tls.Certificate, want string) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); streams++ {
			server.cut(certificate)
			if strings.HasPrefix(server.awaitStream(t, streams), "Bearer "+want+" ") {
				streams++
				return
			}
		}
		t.Fatalf("no stream with the token %q", want)
	}
	e.token.show(map[string][]byte{"token": []byte("second")})
	untilToken(serves(old, podServerName), "second")

	e.trust(slices.Concat(old.Certificate, next.Certificate))
	untilToken(serves(old, podServerName), "second")
	// A connection that fails is tried again, so one to the new certificate waits for the bundle.
	untilToken(serves(next, podServerName), "second")
	e.trust(next.Certificate)
	e.token.show(map[string][]byte{"token": []byte("third")})
	untilToken(serves(next, podServerName), "third")

	// What is not in the bundle any more, and what has another name, gets no stream.
	for name, certificate := range map[string]*tls.Certificate{
		"the old authority": serves(old, podServerName), "another name": serves(next, "elsewhere.cardea-system.svc"),
	} {
		e.noStream(server, certificate, name)
	}
}

// noStream shows a certificate to the proxy more than once, and wants no stream.
func (e *podEnvoy) noStream(server *podServer, certificate *tls.Certificate, name string) {
	e.t.Helper()
	server.mu.Lock()
	before := len(server.streams)
	server.mu.Unlock()
	server.cut(certificate)
	server.awaitHandshakes(e.t, 2)
	server.mu.Lock()
	defer server.mu.Unlock()
	if len(server.streams) > before {
		e.t.Errorf("a stream was opened with a certificate of %s", name)
	}
}

// TestPodEnvoyWaitsForItsServer: a proxy is not ready before it has its configuration, however long that takes.
func TestPodEnvoyWaitsForItsServer(t *testing.T) {
	state, port := podWorld(t)
	authority := testcert.NewAuthority("test")
	server := newPodServer(t, state, serves(authority, podServerName))
	server.cut(nil)
	e := startPodEnvoy(t, server, authority.Certificate, "token")
	server.awaitHandshakes(t, 3)
	if status, body := e.probe("/ready"); status != 0 || !strings.Contains(body, "refused") {
		t.Errorf("without a server, the probe's answer is %d %s", status, body)
	}
	server.cut(serves(authority, podServerName))
	e.awaitReady()
	get(t, port)
}

func get(t *testing.T, port int32) *http.Response {
	t.Helper()
	resp, err := client(t, nil).Get(fmt.Sprintf("http://127.0.0.1:%d/", port))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the answer is %s", resp.Status)
	}
	return resp
}

// TestPodEnvoyDrains: while the drain's request waits, every answer tells the client to leave, new connections are
// served, and the proxy says that it is ready. One that lives on serves as before.
func TestPodEnvoyDrains(t *testing.T) {
	state, port := podWorld(t)
	authority := testcert.NewAuthority("test")
	server := newPodServer(t, state, serves(authority, podServerName))
	e := startPodEnvoy(t, server, authority.Certificate, "token")
	e.awaitReady()
	if resp := get(t, port); resp.Close {
		t.Error("a connection is closed before the drain")
	}
	if status, _ := e.probe("/drain/"); status != http.StatusNotFound {
		t.Errorf("without the secret: %d", status)
	}
	if status, _ := e.probe("/drain/secret/more"); status != http.StatusNotFound {
		t.Errorf("with more than the secret: %d", status)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	drained := make(chan error, 1)
	began := time.Now()
	go func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, e.probes+"/drain/secret", nil)
		resp, err := client(t, nil).Do(req)
		if err == nil {
			if err = resp.Body.Close(); resp.StatusCode != http.StatusOK {
				err = fmt.Errorf("the drain's answer is %s", resp.Status)
			}
		}
		drained <- err
	}()
	told := 0
	for {
		select {
		case err := <-drained:
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took < podDrain/2 { // Envoy's clock is coarse
				t.Errorf("the drain took %v, want %v", took, podDrain)
			}
			if told == 0 {
				t.Error("no answer told the client to leave")
			}
			if resp := get(t, port); !resp.Close {
				t.Error("after the drain, an answer does not tell the client to leave")
			}
			for deadline := time.Now().Add(30 * time.Second); get(t, port).Close; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("long after the drain, answers tell the client to leave")
				}
			}
			if status, body := e.probe("/ready"); status != http.StatusOK {
				t.Errorf("ready after the drain: %d %s", status, body)
			}
			return
		default:
		}
		if get(t, port).Close {
			told++
		}
		if status, body := e.probe("/ready"); status != http.StatusOK {
			t.Fatalf("ready while it drains: %d %s", status, body)
		}
		if status, body := e.probe("/live"); status != http.StatusOK {
			t.Fatalf("alive while it drains: %d %s", status, body)
		}
	}
}
