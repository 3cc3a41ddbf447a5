package epp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cardea.dev/cardea/examples/inference/simulator"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/deliver/process"
	"cardea.dev/cardea/internal/epp/members"
)

// rig is a real Envoy with a listener for each mode, simulated model servers behind it, and a picker that it asks over
// TLS.
type rig struct {
	t       testing.TB
	servers []string // endpoints that serve
	dead    string   // an endpoint of the pool that refuses connections
	load    *loads
	picker  *Picker
	at      string // where the picker listens
	stop    func() // ends the picker
	urls    map[string]string
	client  *http.Client
	hold    chan struct{} // lets /hold go on
	admin   func(path string) string
}

// tuned are the settings of the servers: they answer at once.
func tuned() simulator.Settings {
	set := simulator.Defaults()
	set.Start, set.Prefill, set.Decode = 0, 0, 0
	return set
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, load: &loads{}, hold: make(chan struct{}), client: &http.Client{Timeout: 3 * time.Minute}}
	t.Cleanup(r.client.CloseIdleConnections)
	for range 3 {
		server := httptest.NewUnstartedServer(nil)
		set := tuned()
		set.Name = server.Listener.Addr().String()
		server.Config.Handler = r.handler(simulator.New(set).Handler(), set.Name)
		server.Start()
		t.Cleanup(server.Close)
		r.servers = append(r.servers, set.Name)
	}
	r.dead = free(t)
	r.at = free(t)
	r.startPicker()
	t.Cleanup(func() { r.stop() })
	r.startEnvoy()
	return r
}

// handler serves /hold besides: it sends "one", and "two" when the test says so.
func (r *rig) handler(models http.Handler, name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Upgrade") != "" {
			echo(w, name)
			return
		}
		if q.URL.Path == "/early" { // answers before the request ends
			_ = http.NewResponseController(w).EnableFullDuplex()
			w.Header().Set("x-model-server", name)
			return
		}
		if q.URL.Path != "/hold" {
			models.ServeHTTP(w, q)
			return
		}
		w.Header().Set("x-model-server", name)
		fmt.Fprint(w, "one")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.hold:
			fmt.Fprint(w, "two")
		case <-q.Context().Done():
		}
	})
}

// echo changes the protocol, and sends back what comes.
func echo(w http.ResponseWriter, name string) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err) // it speaks HTTP/1.1
	}
	defer conn.Close()
	fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"x-model-server: %s\r\n\r\n", name)
	_, _ = io.Copy(conn, buffered)
}

// free is an address that nobody listens at.
func free(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (r *rig) all() []string { return append([]string{r.dead}, r.servers...) }

// startPicker starts a picker that knows nothing yet but the members.
func (r *rig) startPicker() {
	r.t.Helper()
	cfg := Defaults()
	cfg.Pool, cfg.Load, cfg.ShowPick = "llm", r.load, true
	list := filepath.Join(r.t.TempDir(), "pool")
	cfg.Members = members.File{Path: list}
	text := `{"endpoints":[`
	for i, e := range r.all() {
		text += fmt.Sprintf(`%s{"address":%q}`, map[bool]string{true: ","}[i > 0], e)
	}
	text += `],"objectives":{"batch":-1},` +
		`"rewrites":[{"name":"aliases","rules":[{"models":["alias"],"targets":[{"model":"simulated"}]}]}]}`
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	p, err := New(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	l, err := net.Listen("tcp", r.at)
	if err != nil {
		r.t.Fatal(err)
	}
	secret, err := SelfSigned()
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, Listeners{GRPC: l, TLS: secret}) }()
	r.picker = p
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	})
}

// prefer makes endpoints the best ones, in this order.
func (r *rig) prefer(endpoints ...string) {
	for _, e := range r.all() {
		s := idle()
		s.KVCache = 0.7
		for i, p := range endpoints {
			if p == e {
				s.KVCache = 0.1 * float64(i)
			}
		}
		r.load.set(e, s)
	}
}

// startEnvoy runs Envoy until the end of the test.
func (r *rig) startEnvoy() {
	r.t.Helper()
	binary, err := process.FindPath(bootstrap.Program())
	if err != nil {
		r.t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "picker") // the path of a socket must be short
	if err != nil {
		r.t.Fatal(err)
	}
	socket, config, log := filepath.Join(dir, "admin"), filepath.Join(dir, "envoy.json"), filepath.Join(dir, "log")
	text, err := json.Marshal(r.bootstrap(socket))
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(config, text, 0o600); err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command(binary, "-c", config, "--disable-hot-restart", "--concurrency", "1", "--log-path", log,
		"-l", "warning")
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if r.t.Failed() {
			text, _ := os.ReadFile(log)
			r.t.Logf("envoy's log:\n%s", text)
		}
		os.RemoveAll(dir)
	})
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	admin := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	r.admin = func(path string) string {
		answer, err := admin.Get("http://admin" + path)
		if err != nil {
			return ""
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return string(text)
	}
	eventually(r.t, "envoy is live", func() bool { return strings.HasPrefix(r.admin("/ready"), "LIVE") })
	r.urls = map[string]string{}
	for line := range strings.Lines(r.admin("/listeners")) {
		name, address, _ := strings.Cut(strings.TrimSpace(line), "::")
		r.urls[name] = "http://" + address
	}
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}
