package workload_test

import (
	"context"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	proto "github.com/spiffe/go-spiffe/v2/proto/spiffe/workload"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/workloadapi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	clocktesting "k8s.io/utils/clock/testing"

	"cardea.dev/cardea/internal/deliver/certs"
	"cardea.dev/cardea/internal/deliver/workload"
)

const waitTimeout = 30 * time.Second

// times are those of an authority that rotates while a test moves the clock.
var times = certs.Times{Authority: 365 * 24 * time.Hour, Server: time.Hour, Step: 36 * time.Hour}

// serve serves identities until the test ends.
func serve(t *testing.T, clock *clocktesting.FakeClock, bundle string, names ...string) (sockets []string) {
	t.Helper()
	dir := t.TempDir()
	cfg := workload.Config{TrustDomain: "example.org", Clock: clock, BundleFile: bundle}
	var err error
	if cfg.Authority, err = certs.New(certs.Config{Purpose: "identity", Times: times, Clock: clock}); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		i, err := workload.ParseIdentity("shop/" + name + "=" + filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		cfg.Identities = append(cfg.Identities, i)
		sockets = append(sockets, i.Socket)
	}
	server, err := workload.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return sockets
}

// updates takes what a client of go-spiffe hears.
type updates struct {
	t  *testing.T
	to chan *workloadapi.X509Context
}

func (u updates) OnX509ContextUpdate(c *workloadapi.X509Context) { u.to <- c }

func (u updates) OnX509ContextWatchError(err error) {
	if status.Code(err) != codes.Canceled {
		u.t.Log(err)
	}
}

func (u updates) next() *workloadapi.X509Context {
	u.t.Helper()
	select {
	case c := <-u.to:
		return c
	case <-time.After(waitTimeout):
		u.t.Fatal("nothing comes")
		return nil
	}
}

// watch follows a socket with go-spiffe's client.
func watch(t *testing.T, socket string) updates {
	t.Helper()
	u := updates{t, make(chan *workloadapi.X509Context, 100)}
	client, err := workloadapi.New(t.Context(), workloadapi.WithAddr("unix://"+socket))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = client.WatchX509Context(ctx, u)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		client.Close()
	})
	return u
}

// check verifies a certificate by the bundle that came with it.
func check(t *testing.T, c *workloadapi.X509Context, name string, now time.Time) {
	t.Helper()
	leaf := c.DefaultSVID()
	if leaf.ID.String() != "spiffe://example.org/ns/shop/sa/"+name {
		t.Errorf("the identity is %s", leaf.ID)
	}
	bundle, err := c.Bundles.GetX509BundleForTrustDomain(spiffeid.RequireTrustDomainFromString("example.org"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	for _, a := range bundle.X509Authorities() {
		roots.AddCert(a)
	}
	if _, err := leaf.Certificates[0].Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now}); err != nil {
		t.Error(err)
	}
}

// TestSockets: each socket gives certificates of its identity, to a client of go-spiffe; they are renewed after half of
// their life, and when the authority rotates.
func TestSockets(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	file := filepath.Join(t.TempDir(), "bundle.yaml")
	sockets := serve(t, clock, file, "agent", "visitor")
	agent, visitor := watch(t, sockets[0]), watch(t, sockets[1])
	first := agent.next()
	check(t, first, "agent", clock.Now())
	check(t, visitor.next(), "visitor", clock.Now())
	if info, err := os.Stat(sockets[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	clock.Step(12 * time.Hour)
	second := agent.next()
	check(t, second, "agent", clock.Now())
	if second.DefaultSVID().Certificates[0].Equal(first.DefaultSVID().Certificates[0]) {
		t.Error("it is the old one")
	}
	clock.Step(244 * 24 * time.Hour) // the next authority is introduced
	c := agent.next()
	for len(c.Bundles.Bundles()[0].X509Authorities()) != 2 {
		c = agent.next()
	}
	check(t, c, "agent", clock.Now())
	for end := time.Now().Add(waitTimeout); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(file)
		if err == nil && strings.Count(string(text), "BEGIN CERTIFICATE") == 2 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the file has %s, %v", text, err)
		}
	}
}

// TestRefused: calls without SPIFFE's header, and tokens.
func TestRefused(t *testing.T) {
	sockets := serve(t, clocktesting.NewFakeClock(time.Now()), "", "agent")
	conn, err := grpc.NewClient("unix://"+sockets[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := proto.NewSpiffeWorkloadAPIClient(conn)
	stream, err := client.FetchX509SVID(t.Context(), &proto.X509SVIDRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("without the header: %v", err)
	}
	if _, err := client.FetchJWTSVID(t.Context(), &proto.JWTSVIDRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("a token: %v", err)
	}
	if _, err := workload.New(workload.Config{
		TrustDomain: "example.org", Identities: []workload.Identity{{Socket: sockets[0]}}, Authority: &certs.Authority{},
	}); err == nil || !strings.Contains(err.Error(), "another program serves") {
		t.Errorf("a socket that is in use: %v", err)
	}
}

// TestParseIdentity: what --identity takes, and what it says of what it does not.
func TestParseIdentity(t *testing.T) {
	for text, want := range map[string]string{
		"shop/agent=/run/a.sock": "", "shop/agent": "want NAMESPACE/NAME=SOCKET", "agent=/run/a.sock": "want NAMESPACE/NAME",
		"Shop/agent=/a": `namespace "Shop"`, "shop/a b=/a": `ServiceAccount "a b"`, "shop/agent=": "want NAMESPACE/NAME",
	} {
		if _, err := workload.ParseIdentity(text); want == "" && err != nil ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
