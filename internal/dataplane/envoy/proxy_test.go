package envoy

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
	"cardea.dev/cardea/internal/deliver/process"
)

// proxy is a real Envoy, started with the package's own bootstrap and fed with one state.
type proxy struct {
	admin *http.Client
	pid   int
}

// startProxy starts an Envoy and waits until it is ready. Whatever it refuses fails the test.
func startProxy(t testing.TB, state map[resource.Key]resource.Resource) *proxy {
	t.Helper()
	var server *stateServer
	p := startEnvoy(t, func(socket string) { server = serveState(t, socket, state) })
	for deadline := time.Now().Add(30 * time.Second); server.unanswered.Load() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d responses are not answered", server.unanswered.Load())
		}
	}
	return p
}

// startEnvoy starts an Envoy, fed by what serve starts at a Unix socket, and waits until it is ready. change changes
// its bootstrap.
func startEnvoy(t testing.TB, serve func(socket string), change ...func([]byte) []byte) *proxy {
	t.Helper()
	binary, err := process.FindPath(bootstrap.Program())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "envoy") // a Unix socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	serve(filepath.Join(dir, "xds"))

	config, err := bootstrap.Render(bootstrap.Config{
		NodeID: "test", NodeCluster: "test",
		XDSSocket: filepath.Join(dir, "xds"), AdminSocket: filepath.Join(dir, "admin"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		config = f(config)
	}
	file := filepath.Join(dir, "bootstrap.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, append(bootstrap.Flags(), "-c", file, "--concurrency", "1")...)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	p := &proxy{pid: cmd.Process.Pid, admin: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "admin"))
		},
	}}}
	t.Cleanup(p.admin.CloseIdleConnections)
	p.await(t, "/ready", "LIVE")
	return p
}

// await waits until a page of the admin interface has some text.
func (p *proxy) await(t testing.TB, path, text string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if resp, err := p.admin.Get("http://admin" + path); err == nil {
			b, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if strings.Contains(string(b), text) {
				return
			}
		}
		time.Sleep(10 * time.Millisecond) // between two looks at the condition
	}
	t.Fatalf("the proxy's %s never said %q", path, text)
}

// stateServer answers every subscription with what the state has.
type stateServer struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	t          testing.TB
	state      map[resource.Key]resource.Resource
	unanswered atomic.Int64 // responses
}

func serveState(t testing.TB, socket string, state map[resource.Key]resource.Resource) *stateServer {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server, s := grpc.NewServer(), &stateServer{t: t, state: state}
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, s)
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		server.Stop()
		done.Wait()
	})
	return s
}

func (s *stateServer) DeltaAggregatedResources(
	stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer,
) error {
	for {
		req, err := stream.Recv()
		if err != nil {
			return nil // the proxy is gone
		}
		if req.ErrorDetail != nil {
			s.t.Errorf("the proxy refused %s: %s", req.TypeUrl, req.ErrorDetail.Message)
		}
		if req.ResponseNonce != "" {
			s.unanswered.Add(-1)
		}
		if req.ResponseNonce != "" && len(req.ResourceNamesSubscribe) == 0 {
			continue // an acknowledgement
		}
		typ, ok := xdstypes.OfURL(req.TypeUrl)
		if !ok {
			continue
		}
		s.unanswered.Add(1)
		if err := stream.Send(s.answer(typ, req.ResourceNamesSubscribe)); err != nil {
			return err
		}
	}
}

// answer holds the named resources of a type, or all if none is named.
func (s *stateServer) answer(typ resource.Type, names []string) *discoveryv3.DeltaDiscoveryResponse {
	resp := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: xdstypes.URL(typ), Nonce: "1"}
	wanted := make(map[string]bool)
	for _, name := range names {
		wanted[name] = true
	}
	for k, r := range s.state {
		if k.Type != typ || len(names) > 0 && !wanted[k.Name] {
			continue
		}
		delete(wanted, k.Name)
		resp.Resources = append(resp.Resources, &discoveryv3.Resource{
			Name: k.Name, Version: r.Version,
			Resource: &anypb.Any{TypeUrl: xdstypes.URL(typ), Value: r.AppendBytes(nil)},
		})
	}
	for name := range wanted {
		resp.RemovedResources = append(resp.RemovedResources, name)
	}
	return resp
}

// freePort is a port of the loopback address that nobody has.
func freePort(t testing.TB) int32 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return int32(l.Addr().(*net.TCPAddr).Port)
}

// client calls the proxy and follows no redirect.
func client(t testing.TB, config *tls.Config) *http.Client {
	c := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: config != nil},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}
