package envoy

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	upstreamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// impatient are the same resources, with a second in place of each time after which a silent peer counts as gone. A
// time that is not there stays away.
func impatient(t *testing.T, state map[resource.Key]resource.Resource) map[resource.Key]resource.Resource {
	t.Helper()
	state = maps.Clone(state)
	for k, r := range state {
		switch k.Type {
		case xdstypes.Listener:
			l := new(listenerv3.Listener)
			parse(t, r.AppendBytes(nil), l)
			hurry(l.TcpKeepalive)
			shorten(l.ListenerFiltersTimeout)
			for _, chain := range append(l.FilterChains, l.DefaultFilterChain) {
				shorten(chain.GetTransportSocketConnectTimeout())
				for _, f := range chain.GetFilters() {
					m := new(hcmv3.HttpConnectionManager)
					parse(t, f.GetTypedConfig().Value, m)
					hurryPings(m.GetHttp2ProtocolOptions())
					f.ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: message.MustAny(m)}
				}
			}
			state[k] = resource.JoinParts(message.NewPart("", message.MustMarshal(l)))
		case xdstypes.Cluster:
			c := new(clusterv3.Cluster)
			parse(t, r.AppendBytes(nil), c)
			hurry(c.UpstreamConnectionOptions.GetTcpKeepalive())
			o := new(upstreamv3.HttpProtocolOptions)
			parse(t, c.TypedExtensionProtocolOptions[message.HTTPOptionsName].Value, o)
			hurryPings(o.GetExplicitHttpConfig().GetHttp2ProtocolOptions())
			c.TypedExtensionProtocolOptions[message.HTTPOptionsName] = message.MustAny(o)
			state[k] = resource.JoinParts(message.NewPart("", message.MustMarshal(c)))
		}
	}
	return state
}

func parse(t *testing.T, b []byte, m proto.Message) {
	t.Helper()
	if err := proto.Unmarshal(b, m); err != nil {
		t.Fatal(err)
	}
}

func hurry(k *corev3.TcpKeepalive) {
	if k != nil {
		k.KeepaliveTime, k.KeepaliveInterval = wrapperspb.UInt32(1), wrapperspb.UInt32(1)
	}
}

func hurryPings(o *corev3.Http2ProtocolOptions) {
	shorten(o.GetConnectionKeepalive().GetInterval())
	shorten(o.GetConnectionKeepalive().GetTimeout())
	if idle := o.GetConnectionKeepalive().GetConnectionIdleInterval(); idle != nil {
		idle.Seconds, idle.Nanos = 0, 1_000_000
	}
}

func shorten(d *durationpb.Duration) {
	if d != nil {
		d.Seconds, d.Nanos = 1, 0
	}
}

// network is a network namespace behind a link, whose programs can be lost without a word.
type network struct {
	t                *testing.T
	name             string
	address, gateway string // in it, and the machine's own
	farEnd, nearEnd  string // of the link
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil || os.Geteuid() != 0 {
		t.Skip("a network namespace needs root and the program ip")
	}
	pid := os.Getpid() % 60000
	n := &network{
		t: t, name: fmt.Sprintf("cardea-%d", pid), nearEnd: fmt.Sprintf("cn%d", pid), farEnd: fmt.Sprintf("cf%d", pid),
		gateway: fmt.Sprintf("10.213.%d.%d", pid/256, 1+pid%64*4), address: fmt.Sprintf("10.213.%d.%d", pid/256, 2+pid%64*4),
	}
	n.ip("netns", "add", n.name)
	t.Cleanup(func() { n.ip("netns", "del", n.name) })
	n.ip("link", "add", n.nearEnd, "type", "veth", "peer", "name", n.farEnd, "netns", n.name)
	n.ip("addr", "add", n.gateway+"/30", "dev", n.nearEnd)
	n.ip("link", "set", n.nearEnd, "up")
	n.ip("-n", n.name, "addr", "add", n.address+"/30", "dev", n.farEnd)
	n.ip("-n", n.name, "link", "set", n.farEnd, "up")
	return n
}

func (n *network) ip(args ...string) {
	n.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		n.t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// within runs f in the network: its sockets stay there.
func (n *network) within(f func() error) {
	n.t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with this function
		ns, err := os.Open("/run/netns/" + n.name)
		if err == nil {
			defer ns.Close()
			err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		n.t.Fatal(err)
	}
}

// lose cuts the link: nothing comes of the network any more, and nobody is told.
func (n *network) lose() { n.ip("-n", n.name, "link", "set", n.farEnd, "down") }

// backend answers in the network.
func (n *network) backend(protocols *http.Protocols) model.Endpoint {
	n.t.Helper()
	var listener net.Listener
	n.within(func() (err error) {
		listener, err = net.Listen("tcp", n.address+":0")
		return err
	})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	_ = s.Listener.Close()
	s.Listener, s.Config.Protocols = listener, protocols
	s.Start()
	n.t.Cleanup(s.Close)
	return model.Endpoint{Address: n.address, Port: int32(listener.Addr().(*net.TCPAddr).Port)}
}

// TestPeersThatVanish: clients and backends that are gone without a word, as when their machine or the way to them is
// lost, leave no connection behind. What is asked of such a backend is answered, and others are served all the time.
func TestPeersThatVanish(t *testing.T) {
	n := newNetwork(t)
	w, port := newWorld(t), freePort(t)
	http2 := new(http.Protocols)
	http2.SetUnencryptedHTTP2(true)
	w.apply(func(b *flow.Batch) {
		w.addPortAt(b, []string{"127.0.0.1", n.gateway}, 80, port, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		w.serve(b, 3, 80, "http", "*", forward("rule", prefix("/")))
		w.addBackend(b, service("far"), n.backend(nil))
		w.serve(b, 2, 80, "http", "*", model.Rule{
			Key: testRuleKey("far"), Matches: []model.Match{prefix("/far")}, Backends: to("far"),
		})
		w.setBackend(b, model.Backend{
			Key: service("far2"), Protocol: model.HTTP2, Endpoints: []model.Endpoint{n.backend(http2)},
		})
		w.serve(b, 1, 80, "http", "*", model.Rule{
			Key: testRuleKey("far2"), Matches: []model.Match{prefix("/far2")}, Backends: to("far2"),
		})
	})
	p := startProxy(t, impatient(t, w.resources()))
	local := client(t, nil)
	local.Transport.(*http.Transport).DisableKeepAlives = true
	local.Timeout = 20 * time.Second
	status := func(path string) int {
		t.Helper()
		resp, err := local.Get(fmt.Sprintf("http://127.0.0.1:%d%s", port, path))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	var gone net.Conn
	n.within(func() (err error) {
		gone, err = net.Dial("tcp", net.JoinHostPort(n.gateway, fmt.Sprint(port)))
		return err
	})
	defer gone.Close()
	if _, err := io.WriteString(gone, "GET / HTTP/1.1\r\nHost: any\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := http.ReadResponse(bufio.NewReader(gone), nil); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/far", "/far2"} {
		if got := status(path); got != http.StatusOK {
			t.Fatalf("%s: %d", path, got)
		}
	}
	open := []string{
		"listener.80.downstream_cx_active", "cluster.service/shop/far/8080.upstream_cx_active",
		"cluster.service/shop/far2/8080.upstream_cx_active",
	}
	for _, name := range open {
		if p.stat(t, name) == "0" {
			t.Fatalf("%s is 0 before the link is lost", name)
		}
	}

	n.lose()
	if got := status("/far2"); got != http.StatusServiceUnavailable {
		t.Errorf("a request to a backend that is gone is answered %d, want 503", got)
	}
	for deadline := time.Now().Add(30 * time.Second); len(open) > 0; time.Sleep(20 * time.Millisecond) {
		if got := status("/"); got != http.StatusOK {
			t.Fatalf("meanwhile another client is answered %d", got)
		}
		if p.stat(t, open[0]) == "0" {
			open = open[1:]
		} else if time.Now().After(deadline) {
			t.Fatalf("%s is %s still", open[0], p.stat(t, open[0]))
		}
	}
}

// stat is the value of one of the proxy's statistics; "0" if there is none yet.
func (p *proxy) stat(t *testing.T, name string) string {
	t.Helper()
	resp, err := p.admin.Get("http://admin/stats?filter=^" + strings.ReplaceAll(name, ".", `\.`) + "$")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, value, found := strings.Cut(strings.TrimSpace(string(b)), ": ")
	if !found {
		return "0"
	}
	return value
}

// TestSilentClients: who begins to speak, and then says nothing more, is hung up on, and others are served meanwhile:
// over HTTP/2 a client that answers no ping, over TLS one that ends no handshake, nor even begins it.
func TestSilentClients(t *testing.T) {
	w, plain, secure := newWorld(t), freePort(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		secret := testSecret(t, "cert", "a.test")
		w.secrets.Set(b, secret.Ref, secret)
		l := testListener("https", "")
		l.Certificates = []model.ObjectRef{secret.Ref}
		w.addPort(b, 443, secure, model.HTTPS, l)
		w.addPort(b, 80, plain, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		w.serve(b, 1, 80, "http", "*", forward("rule", prefix("/")))
		w.serve(b, 1, 443, "https", "*", forward("rule", prefix("/")))
	})
	startProxy(t, impatient(t, w.resources()))
	for name, c := range map[string]struct {
		port int32
		says string
	}{
		"HTTP/2 without an answer to pings": {plain, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"},
		"TLS without a handshake":           {secure, ""},
		"TLS with the begin of a hello":     {secure, clientHello(t)[:20]},
		"TLS with a hello":                  {secure, clientHello(t)},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", c.port))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, c.says); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() {
				_, err := io.Copy(io.Discard, conn)
				ended <- err
			}()
			other := client(t, &tls.Config{InsecureSkipVerify: true})
			for deadline := time.Now().Add(20 * time.Second); ; {
				select {
				case err := <-ended:
					if err != nil && !errors.Is(err, unix.ECONNRESET) {
						t.Error(err)
					}
					return
				default:
				}
				if time.Now().After(deadline) {
					t.Fatal("the proxy does not hang up")
				}
				resp, err := other.Get(fmt.Sprintf("https://127.0.0.1:%d/", secure))
				if err != nil {
					t.Fatal(err)
				}
				if _ = resp.Body.Close(); resp.StatusCode != http.StatusOK {
					t.Fatalf("another client is answered %s", resp.Status)
				}
			}
		})
	}
}

// clientHello is the first message of a TLS handshake.
func clientHello(t *testing.T) string {
	t.Helper()
	ours, theirs := net.Pipe()
	defer ours.Close()
	go func() {
		_ = tls.Client(theirs, &tls.Config{ServerName: "a.test", InsecureSkipVerify: true}).Handshake()
	}()
	b := make([]byte, 4096)
	size, err := ours.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:size])
}
