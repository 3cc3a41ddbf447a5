package envoy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/test/testcert"
)

// startBoundedPod is a proxy of a pod that serves a world.
func startBoundedPod(t *testing.T, w *world, change podChange) *podEnvoy {
	t.Helper()
	authority := testcert.NewAuthority("test")
	server := newPodServer(t, w.resources(), serves(authority, podServerName))
	e := startPodEnvoyAt(t, "127.0.0.1", server, authority.Certificate, "token", change)
	e.awaitReady()
	return e
}

// awaitProbe waits until a probe is answered so.
func (e *podEnvoy) awaitProbe(path string, want int) {
	e.t.Helper()
	var status int
	var body string
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if status, body = e.probe(path); status == want {
			return
		}
	}
	e.t.Fatalf("%s is answered %d %s, want %d", path, status, body, want)
}

// TestFullPodIsAliveButNotReady: a proxy that takes no more connections gets no more clients, and those that it has are
// not lost by a restart. When some leave it is ready again.
func TestFullPodIsAliveButNotReady(t *testing.T) {
	w, port := newWorld(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, port, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		w.serve(b, 1, 80, "http", "*", forward("rule", prefix("/")))
	})
	const most = 20
	e := startBoundedPod(t, w, podChange{edit: func(s string) string {
		return strings.Replace(s, fmt.Sprintf(`"%d"`, message.MaxConnections), fmt.Sprintf(`"%d"`, most), 1)
	}})
	var held []net.Conn
	for range most {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		held = append(held, conn)
	}
	e.awaitProbe("/ready", http.StatusServiceUnavailable)
	if status, body := e.probe("/live"); status != http.StatusOK {
		t.Errorf("/live is answered %d %s by a proxy at its limit of connections", status, body)
	}
	first := held[0]
	if _, err := io.WriteString(first, "GET / HTTP/1.1\r\nHost: any\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.ReadResponse(bufio.NewReader(first), nil); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("a client that it has is answered %v %v", resp, err)
	}
	for _, conn := range held[1:] {
		_ = conn.Close()
	}
	e.awaitProbe("/ready", http.StatusOK)
	get(t, port)
}

// TestMemoryHog: clients that fill the proxy's buffers, by requests to a backend that reads nothing, lose those
// requests when the memory is full. The proxy lives, and others are served while they go on.
func TestMemoryHog(t *testing.T) {
	const memory, hogs, streams = 128 << 20, 120, 14 // they fill about 260 MiB if nobody minds
	w, port := newWorld(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, port, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		w.serve(b, 2, 80, "http", "*", forward("rule", prefix("/")))
		w.addBackend(b, service("deaf"), deafBackend(t))
		w.serve(b, 1, 80, "http", "*", model.Rule{
			Key: testRuleKey("deaf"), Matches: []model.Match{prefix("/deaf")}, Backends: to("deaf"),
		})
	})
	e := startBoundedPod(t, w, podChange{memory: memory, edit: func(s string) string { return s }})

	ctx, cancel := context.WithCancel(t.Context())
	var attack sync.WaitGroup
	defer attack.Wait()
	defer cancel()
	lost := make(chan string, hogs*streams)
	for range hogs {
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		// One connection each, whatever the proxy ends: the test has descriptors to ask and to probe.
		hog := &http.Client{Transport: &http.Transport{Protocols: protocols, MaxConnsPerHost: 1}}
		defer hog.CloseIdleConnections()
		for range streams {
			attack.Go(func() {
				for ctx.Err() == nil {
					req, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d/deaf", port),
						io.LimitReader(zeros{}, 1<<20))
					if err != nil {
						t.Error(err)
						return
					}
					resp, err := hog.Do(req)
					what := fmt.Sprint(err)
					if err == nil {
						what = resp.Status
						_ = resp.Body.Close()
					}
					select {
					case lost <- what:
					default:
					}
				}
			})
		}
	}
	select {
	case <-lost:
	case <-time.After(60 * time.Second):
		t.Fatal("no request of those who fill the memory is refused")
	}
	c := client(t, nil)
	other := func() bool { // tells whether a request of another client is served
		resp, err := c.Get(fmt.Sprintf("http://127.0.0.1:%d/", port))
		if err != nil {
			return false // the connection was refused
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
	served, unanswered := 0, 0 // the kubelet restarts a proxy that does not answer six times in a row
	for deadline := time.Now().Add(60 * time.Second); served < 20; {
		if time.Now().After(deadline) {
			t.Fatalf("only %d requests of others are served", served)
		}
		if status, body := e.probe("/live"); status == http.StatusOK {
			unanswered = 0
		} else if unanswered++; unanswered == 6 {
			t.Fatalf("/live is answered %d %s by a proxy whose memory is full", status, body)
		}
		if other() {
			served++
		}
	}
	cancel()
	attack.Wait()
	inRow := 0
	for deadline := time.Now().Add(30 * time.Second); inRow < 50; inRow++ {
		if time.Now().After(deadline) {
			t.Fatal("after the attack some requests are still refused")
		}
		if !other() {
			inRow = 0
		}
	}
	e.awaitProbe("/ready", http.StatusOK)
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// deafBackend takes connections and reads nothing. Its receive buffers are small, so what is sent stays with the proxy.
func deafBackend(t *testing.T) model.Endpoint {
	t.Helper()
	small := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
		})
	}}
	listener, err := small.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end }))
	_ = s.Listener.Close()
	s.Listener = listener
	s.Start()
	t.Cleanup(func() {
		close(end)
		s.Close()
	})
	return model.Endpoint{Address: "127.0.0.1", Port: int32(listener.Addr().(*net.TCPAddr).Port)}
}
