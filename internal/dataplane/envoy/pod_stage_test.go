package envoy

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/deliver/process"
	"cardea.dev/cardea/internal/test/testcert"
)

// podServer is an xDS server in a network: TLS with the certificate of the moment, and a token in each stream.
type podServer struct {
	stateServer
	port int32

	mu          sync.Mutex
	certificate *tls.Certificate
	conns       []net.Conn
	streams     []string // "TOKEN NODE" of each stream, in order
}

const podServerName = "cardea.cardea-system.svc"

func newPodServer(t *testing.T, state map[resource.Key]resource.Resource, certificate *tls.Certificate) *podServer {
	t.Helper()
	s := &podServer{stateServer: stateServer{t: t, state: state}, certificate: certificate}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.port = int32(listener.Addr().(*net.TCPAddr).Port)
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		NextProtos: []string{"h2"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.conns = append(s.conns, hello.Conn)
			if s.certificate == nil {
				return nil, errors.New("the server is away")
			}
			return s.certificate, nil
		},
	})))
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, s)
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		server.Stop()
		done.Wait()
	})
	return s
}

func (s *podServer) DeltaAggregatedResources(
	stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer,
) error {
	md, _ := metadata.FromIncomingContext(stream.Context())
	return s.stateServer.DeltaAggregatedResources(&podStream{stream, s, strings.Join(md.Get("authorization"), ",")})
}

// podStream notes who opened it.
type podStream struct {
	discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer
	server *podServer
	token  string
}

func (s *podStream) Recv() (*discoveryv3.DeltaDiscoveryRequest, error) {
	req, err := s.AggregatedDiscoveryService_DeltaAggregatedResourcesServer.Recv()
	if node := req.GetNode(); node != nil {
		s.server.mu.Lock()
		s.server.streams = append(s.server.streams, s.token+" "+node.Id+" "+node.Cluster)
		s.server.mu.Unlock()
	}
	return req, err
}

// cut closes all connections; the next ones see the certificate, or nothing if it is nil.
func (s *podServer) cut(certificate *tls.Certificate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.certificate = certificate
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.conns = nil
}

// awaitStream waits for a stream after the first n, and returns who opened it.
func (s *podServer) awaitStream(t *testing.T, n int) string {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		streams := slices.Clone(s.streams)
		s.mu.Unlock()
		if len(streams) > n {
			return streams[n]
		}
	}
	t.Fatalf("there is no stream after the first %d", n)
	return ""
}

// serves is a server's certificate for a name.
func serves(authority testcert.Pair, name string) *tls.Certificate {
	certificate := authority.NewServer(name).TLSCertificate()
	return &certificate
}

// volume is a folder whose files change all at once, as those of Kubernetes' volumes do.
type volume struct {
	t   *testing.T
	dir string
	n   int
}

func (v *volume) show(files map[string][]byte) {
	v.t.Helper()
	v.n++
	whole := fmt.Sprintf("..content%d", v.n)
	try := func(err error) {
		if err != nil {
			v.t.Helper()
			v.t.Fatal(err)
		}
	}
	try(os.Mkdir(filepath.Join(v.dir, whole), 0o755))
	for name, text := range files {
		try(os.WriteFile(filepath.Join(v.dir, whole, name), text, 0o600))
	}
	try(os.Symlink(whole, filepath.Join(v.dir, "..data_tmp")))
	try(os.Rename(filepath.Join(v.dir, "..data_tmp"), filepath.Join(v.dir, "..data")))
	for name := range files {
		if _, err := os.Lstat(filepath.Join(v.dir, name)); err != nil {
			try(os.Symlink(filepath.Join("..data", name), filepath.Join(v.dir, name)))
		}
	}
}

// podEnvoy is a real Envoy with the files of bootstrap.RenderPod, in place of a pod.
type podEnvoy struct {
	t             *testing.T
	config, token *volume
	files         map[string][]byte
	probes        string // "http://127.0.0.1:PORT"
	metrics       string // likewise
	cmd           *exec.Cmd
}

const (
	podDrain      = 700 * time.Millisecond
	podAfterDrain = 2 * time.Second
)

func startPodEnvoy(t *testing.T, server *podServer, bundle []byte, token string) *podEnvoy {
	t.Helper()
	return startPodEnvoyAt(t, "127.0.0.1", server, bundle, token)
}

// podChange is what a test's proxy has besides: a bound of its memory, an edit of its bootstrap.
type podChange struct {
	memory int64
	edit   func(bootstrap string) string
}

// startPodEnvoyAt starts one whose probes are answered at an address; IPv4's loopback is one of it.
func startPodEnvoyAt(
	t *testing.T, address string, server *podServer, bundle []byte, token string, changes ...podChange,
) *podEnvoy {
	t.Helper()
	change := podChange{edit: func(s string) string { return s }}
	if len(changes) > 0 {
		change = changes[0]
	}
	binary, err := process.FindPath(bootstrap.Program())
	if err != nil {
		t.Fatal(err)
	}
	base, err := os.MkdirTemp("", "envoy") // a Unix socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	e := &podEnvoy{t: t, config: &volume{t: t, dir: filepath.Join(base, "config")},
		token: &volume{t: t, dir: filepath.Join(base, "token")}}
	for _, v := range []*volume{e.config, e.token} {
		if err := os.Mkdir(v.dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	port, metrics := freePort(t), freePort(t)
	e.metrics = fmt.Sprintf("http://127.0.0.1:%d", metrics)
	e.probes = fmt.Sprintf("http://127.0.0.1:%d", port)
	e.files, err = bootstrap.RenderPod(dataplane.PodOptions{
		NodeCluster: "shop/web", ServerHost: "127.0.0.1", ServerPort: server.port, ServerName: podServerName,
		ConfigDir: e.config.dir, CAPath: filepath.Join(e.config.dir, "ca.crt"),
		TokenPath:   filepath.Join(e.token.dir, "token"),
		AdminSocket: filepath.Join(base, "admin"), ProbeAddress: address, ProbePort: port,
		MetricsPort: metrics,
		ReadyPath:   "/ready", LivePath: "/live", DrainPath: "/drain/secret", Drain: podDrain, AfterDrain: podAfterDrain,
		Memory: change.memory,
	})
	if err != nil {
		t.Fatal(err)
	}
	e.files[bootstrap.PodFile] = []byte(change.edit(string(e.files[bootstrap.PodFile])))
	e.trust(bundle)
	e.token.show(map[string][]byte{"token": []byte(token)})
	e.cmd = exec.Command(binary, append(bootstrap.PodCommand(e.config.dir, "", "pod-1")[1:], "--concurrency", "1")...)
	e.cmd.Stdout, e.cmd.Stderr = t.Output(), t.Output()
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = e.cmd.Process.Kill()
		_ = e.cmd.Wait()
	})
	return e
}

func (e *podEnvoy) trust(bundle []byte) {
	e.t.Helper()
	files := map[string][]byte{"ca.crt": bundle}
	for name, text := range e.files {
		files[name] = text
	}
	e.config.show(files)
}

// probe asks for a page of the probes; the status is 0 if nobody answers.
func (e *podEnvoy) probe(path string) (int, string) {
	return e.get(e.probes + path)
}

// get asks for a page; the status is 0 if nobody answers.
func (e *podEnvoy) get(url string) (int, string) {
	c := client(e.t, nil)
	c.Transport.(*http.Transport).DisableKeepAlives = true
	resp, err := c.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

func (e *podEnvoy) awaitReady() {
	e.t.Helper()
	var status int
	var body string
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if status, body = e.probe("/ready"); status == http.StatusOK {
			return
		}
	}
	e.t.Fatalf("the proxy was never ready: %d %s", status, body)
}

// podWorld is a Gateway's resources: one listener that answers every request.
func podWorld(t *testing.T, addresses ...string) (state map[resource.Key]resource.Resource, port int32) {
	w, port := newWorld(t), freePort(t)
	if len(addresses) == 0 {
		addresses = []string{"127.0.0.1"}
	}
	w.apply(func(b *flow.Batch) {
		w.addPortAt(b, addresses, 80, port, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		w.serve(b, 1, 80, "http", "*", forward("rule", prefix("/")))
	})
	return w.resources(), port
}

// awaitHandshakes waits until the proxy has tried n times since the last cut.
func (s *podServer) awaitHandshakes(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		tried := len(s.conns)
		s.mu.Unlock()
		if tried >= n {
			return
		}
	}
	t.Fatalf("the proxy has not tried %d times", n)
}
