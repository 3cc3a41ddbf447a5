package unreached

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/epp"
	"cardea.dev/cardea/internal/epp/members"
	"cardea.dev/cardea/internal/epp/servers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixed are members that don't change.
type fixed []string

func (f fixed) Run(ctx context.Context, tell func(members.Pool)) error {
	var pool members.Pool
	for _, address := range f {
		pool.Members = append(pool.Members, members.Member{Address: address})
	}
	tell(pool)
	<-ctx.Done()
	return nil
}

// start runs a picker of these endpoints, and returns its admin API.
func start(t *testing.T, endpoints ...string) (base string) {
	t.Helper()
	asks := servers.DefaultConfig()
	asks.Interval, asks.Failures = 5*time.Millisecond, 2
	load, err := servers.New(asks)
	if err != nil {
		t.Fatal(err)
	}
	cfg := epp.Defaults()
	cfg.Pool, cfg.Members, cfg.Load = "llama", fixed(endpoints), load
	p, err := epp.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var at epp.Listeners
	for _, l := range []*net.Listener{&at.GRPC, &at.Admin} {
		if *l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, at) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + at.Admin.Addr().String()
}

// server serves metrics that are not known, at an address of its own.
func server(t *testing.T, status int) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(s.Close)
	return s
}

// TestWatcher: an endpoint that ends is told of until it answers again, one that has no metrics never, and nothing is
// known of a pool whose picker does not serve.
func TestWatcher(t *testing.T) {
	dead, silent, alive := server(t, http.StatusOK), server(t, http.StatusNotImplemented), server(t, http.StatusOK)
	address := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	some := start(t, address(dead), address(silent), address(alive))
	all := start(t, address(dead))

	g := flow.New(flow.Config{Name: t.Name()})
	pickers := flow.NewSource[model.ObjectRef, plan.PickerSpec](g, "plan/picker")
	states := flow.NewSource[model.ObjectRef, model.UnreachedEndpoints](g, "input/unreached")
	ref := func(name string) model.ObjectRef { return model.Ref(model.KindInferencePool, "shop", name) }
	bases := map[model.ObjectRef]string{ref("some"): some, ref("all"): all}
	g.Apply("load", func(b *flow.Batch) {
		for _, name := range []string{"some", "all", "starting"} {
			pickers.Set(b, ref(name), plan.PickerSpec{})
		}
		pickers.MarkSynced(b)
		states.MarkSynced(b)
	})
	w := New(Config{
		Graph: g, Pickers: pickers.Collection(), States: states, Interval: time.Millisecond,
		Admin: func(pool model.ObjectRef) (string, bool) { base, ok := bases[pool]; return base, ok },
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- g.Run(ctx) }()
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	told := func(name string) string {
		text := "unknown"
		g.View(func(v flow.View) {
			if u, known := flow.Get(v, states.Collection(), ref(name)); known {
				text = u.Describe()
			}
		})
		return text
	}
	wait := func(name, want string) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); told(name) != want; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("of pool %s is told %q, want %q", name, told(name), want)
			}
		}
	}
	wait("some", "")
	wait("all", "")
	dead.Close()
	why := address(dead) + " (dial: connect: connection refused)"
	wait("some", "1 of 3 endpoints doesn't answer Cardea's picker, so it gets no requests: "+why)
	wait("all", "none of its endpoints (1) answers Cardea's picker, so all of them get requests: "+why)
	l, err := net.Listen("tcp", address(dead))
	if err != nil {
		t.Fatal(err)
	}
	back := &httptest.Server{Listener: l, Config: &http.Server{Handler: silent.Config.Handler}}
	back.Start()
	t.Cleanup(back.Close)
	wait("some", "")
	wait("all", "")
	wait("starting", "unknown")
	g.Apply("gone", func(b *flow.Batch) { pickers.Delete(b, ref("some")) })
	wait("some", "unknown")
}

// TestManyUnreached: the first are named, and the others counted.
func TestManyUnreached(t *testing.T) {
	told := epp.UnreachedEndpoints{Endpoints: 9, Count: 5}
	for i := range 3 {
		told.First = append(told.First, epp.FailedEndpoint{Endpoint: fmt.Sprintf("10.0.0.%d:1", i), Why: "EOF"})
	}
	words := toUnreached(told).Describe()
	if !strings.HasPrefix(words, "5 of 9 endpoints don't answer") ||
		!strings.HasSuffix(words, "10.0.0.2:1 (EOF) and 2 more") {
		t.Error(words)
	}
}

// TestMissedQuestion: a picker that misses one question is known by its last answer, and not after another one.
func TestMissedQuestion(t *testing.T) {
	g := flow.New(flow.Config{Name: t.Name()})
	pickers := flow.NewSource[model.ObjectRef, plan.PickerSpec](g, "plan/picker")
	pool := model.Ref(model.KindInferencePool, "shop", "llama")
	g.Apply("load", func(b *flow.Batch) {
		pickers.Set(b, pool, plan.PickerSpec{})
		pickers.MarkSynced(b)
	})
	g.Settle()
	serves, base := true, start(t)
	w := New(Config{Graph: g, Pickers: pickers.Collection(),
		Admin: func(model.ObjectRef) (string, bool) { return base, serves }})
	for i, c := range []struct{ serves, known bool }{{true, true}, {false, true}, {false, false}, {false, false},
		{true, true}, {false, true}} {
		serves = c.serves
		answers := w.askAll(t.Context())
		w.known = answers
		if _, known := answers[pool]; known != c.known {
			t.Errorf("round %d: known is %v", i, known)
		}
	}
	w.client.CloseIdleConnections()
}
