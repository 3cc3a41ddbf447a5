package xds

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
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/deliver/process"
)

func stringMatch(regex string) *routev3.HeaderMatcher_StringMatch {
	return &routev3.HeaderMatcher_StringMatch{StringMatch: &matcherv3.StringMatcher{
		MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: regex}},
	}}
}

// proxy is a real Envoy.
type proxy struct {
	t     testing.TB
	dir   string
	log   string
	admin *http.Client
	kill  func()
}

const bootstrapText = `
node: {id: proxy, cluster: test}
admin: {address: {pipe: {path: %[1]q}}}
dynamic_resources:
  ads_config: {api_type: DELTA_GRPC, transport_api_version: V3, grpc_services: [
    {envoy_grpc: {cluster_name: xds, authority: cardea}}]}
  cds_config: {ads: {}, resource_api_version: V3}
  lds_config: {ads: {}, resource_api_version: V3}
static_resources:
  clusters:
  - name: xds
    type: STATIC
    connect_timeout: 1s
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
    load_assignment: {cluster_name: xds, endpoints: [{lb_endpoints: [{endpoint: {address: {pipe: {path: %[2]q}}}}]}]}
`

// startEnvoy runs an Envoy that the world feeds.
func startEnvoy(t testing.TB, w *world) *proxy {
	t.Helper()
	return startLimited(t, w, 0)
}

// startLimited runs one that takes regular expressions of as many instructions; 0: as many as by default.
func startLimited(t testing.TB, w *world, regexSize int) *proxy {
	t.Helper()
	binary, err := process.FindPath(bootstrap.Program())
	if err != nil {
		t.Fatal(err)
	}
	return startBinary(t, w, binary, regexSize)
}

func startBinary(t testing.TB, w *world, binary string, regexSize int) *proxy {
	t.Helper()
	dir, err := os.MkdirTemp("", "envoy")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, dir: dir, log: filepath.Join(dir, "log")}
	socket := filepath.Join(dir, "admin.sock")
	config := filepath.Join(dir, "envoy.yaml")
	text := fmt.Appendf(nil, strings.Replace(bootstrapText, "id: proxy", "id: "+filepath.Base(dir), 1), socket, w.socket)
	if regexSize > 0 {
		text = fmt.Appendf(text,
			"layered_runtime: {layers: [{name: l, static_layer: {re2.max_program_size.error_level: %d}}]}\n", regexSize)
	}
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-c", config, "--disable-hot-restart", "--concurrency", "2", "--log-path", p.log,
		"-l", "warning", "--drain-time-s", "1")
	dieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			b, _ := os.ReadFile(p.log)
			t.Logf("envoy's log:\n%s", b)
		}
		os.RemoveAll(dir)
	})
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	p.admin = &http.Client{Transport: transport}
	return p
}

// get asks the admin interface.
func (p *proxy) get(path string) string {
	r, err := p.admin.Get("http://admin" + path)
	if err != nil {
		return ""
	}
	defer r.Body.Close()
	b, _ := io.ReadAll(r.Body)
	return string(b)
}

// live waits until Envoy has started.
func (p *proxy) live() {
	p.t.Helper()
	eventually(p.t, "envoy is live", func() bool { return strings.HasPrefix(p.get("/ready"), "LIVE") })
}

// stat is a counter or a gauge; -1 if it has none of that name.
func (p *proxy) stat(name string) int {
	value := -1
	for line := range strings.Lines(p.get("/stats")) {
		if text, ok := strings.CutPrefix(line, name+": "); ok {
			value, _ = strconv.Atoi(strings.TrimSpace(text))
		}
	}
	return value
}

// clusters are the names of its dynamic clusters.
func (p *proxy) clusters() map[string]bool {
	var dump struct {
		Configs []struct {
			Active []struct {
				Cluster struct{ Name string } `json:"cluster"`
			} `json:"dynamic_active_clusters"`
		}
	}
	_ = json.Unmarshal([]byte(p.get("/config_dump")), &dump)
	names := map[string]bool{}
	for _, c := range dump.Configs {
		for _, a := range c.Active {
			names[a.Cluster.Name] = true
		}
	}
	return names
}

// caller makes requests without connection reuse.
var caller = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}

// call returns "code body" of a request to a host at a port.
func call(port int, host, path string) string {
	req, err := http.NewRequest("GET", fmt.Sprintf("http://127.0.0.1:%d%s", port, path), nil)
	if err != nil {
		return err.Error()
	}
	req.Host = host
	r, err := caller.Do(req)
	if err != nil {
		return "no answer"
	}
	defer r.Body.Close()
	b, _ := io.ReadAll(r.Body)
	return fmt.Sprintf("%d %s", r.StatusCode, b)
}

// answers waits until a request is answered so.
func answers(t testing.TB, port int, host, path, want string) {
	t.Helper()
	got := ""
	deadline := time.Now().Add(30 * time.Second)
	for got != want {
		if time.Now().After(deadline) {
			t.Fatalf("%s%s answered %q, want %q", host, path, got, want)
		}
		got = call(port, host, path)
	}
}

// answersAtAll waits until a request is answered so by all proxies that share a port: some requests go to the one, some
// to the other.
func answersAtAll(t testing.TB, port int, host, want string) {
	t.Helper()
	eventually(t, host+" answers "+want+" everywhere", func() bool {
		for range 20 {
			if call(port, host, "/") != want {
				return false
			}
		}
		return true
	})
}

// backend answers with its name.
func backend(t testing.TB, name string) int {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, name) }))
	t.Cleanup(s.Close)
	return s.Listener.Addr().(*net.TCPAddr).Port
}

// traffic calls a host over and over, on kept connections, until stop; failures are what was not 200.
type traffic struct {
	mu       sync.Mutex
	calls    int
	failures map[string]int
	cancel   context.CancelFunc
	done     sync.WaitGroup
}

func startTraffic(port int, hosts ...string) *traffic {
	ctx, cancel := context.WithCancel(context.Background())
	f := &traffic{failures: map[string]int{}, cancel: cancel}
	for _, h := range hosts {
		f.done.Go(func() { f.loop(ctx, port, h) })
	}
	return f
}

func (f *traffic) loop(ctx context.Context, port int, host string) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	for ctx.Err() == nil {
		req, _ := http.NewRequest("GET", fmt.Sprintf("http://127.0.0.1:%d/", port), nil)
		req.Host = host
		problem := ""
		if r, err := c.Do(req); err != nil {
			problem = err.Error()
		} else {
			b, _ := io.ReadAll(r.Body)
			r.Body.Close()
			if r.StatusCode != 200 {
				problem = fmt.Sprintf("%d %s %s", r.StatusCode, r.Header.Get("x-envoy-response-flags"), b)
			}
		}
		f.mu.Lock()
		f.calls++
		if problem != "" {
			f.failures[problem]++
		}
		f.mu.Unlock()
	}
}

// called waits for n more calls.
func (f *traffic) called(t testing.TB, n int) {
	f.mu.Lock()
	from := f.calls
	f.mu.Unlock()
	eventually(t, "calls", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.calls >= from+n
	})
}

// stop ends the calls; none may have failed.
func (f *traffic) stop(t testing.TB) {
	t.Helper()
	f.cancel()
	f.done.Wait()
	if len(f.failures) > 0 {
		t.Errorf("%d calls, failures: %v", f.calls, f.failures)
	}
	t.Logf("%d calls", f.calls)
}
