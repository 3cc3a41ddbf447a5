package xds

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

func TestMain(m *testing.M) {
	watchTransitions()
	goleak.VerifyTestMain(m)
}

var gateway = model.Ref(model.KindGateway, "test", "gw")

// world is a server over a socket, fed by hand: a source of resources per type.
type world struct {
	t        testing.TB
	graph    *flow.Graph
	feedback *resource.Feedback
	sources  map[resource.Type]*flow.Source[resource.Key, resource.Resource]
	tables   *flow.Source[resource.Key, []host]  // rendered with substitutes for what was refused
	ports    *flow.Source[resource.Key, chained] // the same, of listeners
	server   *Server
	registry *prometheus.Registry
	socket   string
	grpc     *grpc.Server
	age      time.Duration // of connections
	opened   atomic.Int32  // streams
	asked    atomic.Int32  // how often a proxy said what it wants
	passed   atomic.Int64  // how much later it is than the clock says, in nanoseconds
}

// edits are one turn.
type edits struct {
	w *world
	b *flow.Batch
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, registry: prometheus.NewRegistry(), sources: map[resource.Type]*flow.Source[resource.Key,
		resource.Resource]{}}
	now := func() time.Time { return time.Now().Add(time.Duration(w.passed.Load())) }
	w.graph = flow.New(flow.Config{Name: "test", Check: true, Now: now})
	w.feedback = resource.NewFeedback(w.graph)
	var collections []*flow.Collection[resource.Key, resource.Resource]
	for _, typ := range xdstypes.All() {
		w.sources[typ] = flow.NewSource[resource.Key, resource.Resource](w.graph, xdstypes.Name(typ))
		collections = append(collections, w.sources[typ].Collection())
	}
	w.tables = flow.NewSource[resource.Key, []host](w.graph, "hosts")
	w.ports = flow.NewSource[resource.Key, chained](w.graph, "ports")
	refused := func(c *flow.Ctx) func(resource.Origin, uint64) bool {
		return func(o resource.Origin, hash uint64) bool {
			_, refused := flow.Fetch(c, w.feedback.Refused.Collection(), resource.RefusalKey{Gateway: gateway, Origin: o,
				Hash: hash})
			return refused
		}
	}
	collections = append(collections,
		flow.Map(w.tables.Collection(), "tables", func(c *flow.Ctx, k resource.Key, hosts []host) (resource.Resource, bool) {
			return table(k.Name, hosts, refused(c)), true
		}),
		flow.Map(w.ports.Collection(), "chains", func(c *flow.Ctx, k resource.Key, l chained) (resource.Resource, bool) {
			return l.listener(k.Name, refused(c)), true
		}))
	log := slog.New(slog.NewTextHandler(logWriter{t}, &slog.HandlerOptions{Level: slog.LevelError}))
	server, err := New(Config{
		Graph: w.graph, Resources: collections, Feedback: w.feedback, Protocol: testProtocol(), Log: log, Metrics: w.registry,
		Now: now,
		Identify: func(context.Context) (GatewayResolver, error) {
			w.opened.Add(1)
			return func(Node) (model.ObjectRef, error) {
				w.asked.Add(1)
				return gateway, nil
			}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.server = server
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = w.graph.Run(ctx) })
	done.Go(func() { _ = server.Run(ctx) })
	t.Cleanup(func() { cancel(); done.Wait() })
	dir, err := os.MkdirTemp("", "xds")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w.socket = filepath.Join(dir, "xds.sock")
	w.listen()
	t.Cleanup(func() { w.grpc.Stop() })
	return w
}

type logWriter struct{ t testing.TB }

func (l logWriter) Write(b []byte) (int, error) { l.t.Errorf("logged: %s", b); return len(b), nil }

// listen opens the socket; after w.grpc.Stop it does so again.
func (w *world) listen() {
	l, err := net.Listen("unix", w.socket)
	if err != nil {
		w.t.Fatal(err)
	}
	w.grpc = grpc.NewServer(append(GRPCOptions(w.age), grpc.WaitForHandlers(true))...)
	w.server.Register(w.grpc)
	go func() { _ = w.grpc.Serve(l) }()
}

// sync ends the sources' first load, with what it edits.
func (w *world) sync(edit func(e edits)) {
	w.turn(func(e edits) {
		if edit != nil {
			edit(e)
		}
		for _, s := range w.sources {
			s.MarkSynced(e.b)
		}
		w.tables.MarkSynced(e.b)
		w.ports.MarkSynced(e.b)
	})
}

// turn makes edits that share a turn.
func (w *world) turn(edit func(e edits)) {
	w.graph.Apply("test", func(b *flow.Batch) { edit(edits{w, b}) })
}

// pass has time pass.
func (w *world) pass(d time.Duration) {
	w.passed.Add(int64(d))
	w.server.mu.Lock()
	sets := slices.Collect(maps.Values(w.server.sets))
	w.server.mu.Unlock()
	for _, f := range sets {
		f.mu.Lock()
		for st := range f.streams {
			st.wake()
		}
		f.mu.Unlock()
	}
}

func (e edits) set(t resource.Type, name string, r resource.Resource) {
	e.w.sources[t].Set(e.b, resource.Key{Gateway: gateway, Type: t, Name: name}, r)
}

func (e edits) delete(t resource.Type, name string) {
	e.w.sources[t].Delete(e.b, resource.Key{Gateway: gateway, Type: t, Name: name})
}

// hosts sets a table of hosts, whose refused rules are substituted.
func (e edits) hosts(name string, hosts ...host) {
	e.w.tables.Set(e.b, resource.Key{Gateway: gateway, Type: xdstypes.Routes, Name: name}, hosts)
}

// chains sets a listener of filter chains, of which those that were refused are substituted.
func (e edits) chains(name string, l chained) {
	e.w.ports.Set(e.b, resource.Key{Gateway: gateway, Type: xdstypes.Listener, Name: name}, l)
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited for nothing: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// refusals are the refused rows, by the origin's name.
func (w *world) refusals() map[string]resource.Refusal {
	out := map[string]resource.Refusal{}
	for k, r := range w.refusedRows() {
		out[k.Origin.Object.Name()] = r
	}
	return out
}

func (w *world) refusedRows() (rows map[resource.RefusalKey]resource.Refusal) {
	w.graph.View(func(v flow.View) { rows = maps.Collect(flow.All(v, w.feedback.Refused.Collection())) })
	return rows
}

// proxies is the Gateway's row.
func (w *world) proxies() resource.ProxySummary {
	var p resource.ProxySummary
	w.graph.View(func(v flow.View) { p, _ = flow.Get(v, w.feedback.Proxies.Collection(), gateway) })
	return p
}

// acked is the hash of a rule that was acknowledged in a table; 0 if there is no row.
func (w *world) acked(t resource.Type, name string, origin resource.Origin) uint64 {
	var h uint64
	w.graph.View(func(v flow.View) {
		h, _ = flow.Get(v, w.feedback.Acked.Collection(), resource.AckKey{
			Resource: resource.Key{Gateway: gateway, Type: t, Name: name}, Origin: origin,
		})
	})
	return h
}

// metrics are the counters, the gauges and the sums of histograms, as name/label.
func (w *world) metrics() map[string]float64 { return gathered(w.t, w.registry) }

func gathered(t testing.TB, registry *prometheus.Registry) map[string]float64 {
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			key := f.GetName()
			for _, l := range m.Label {
				key += "/" + l.GetValue()
			}
			got[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetHistogram().GetSampleSum()
		}
	}
	return got
}
