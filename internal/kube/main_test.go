package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/testcluster"
)

func TestMain(m *testing.M) { testcluster.Main(m) }

// patient is how long a test waits for what must happen. It is a bound for broken programs, not a measure.
const patient = 60 * time.Second

// shared cluster of all tests, which leave it as it was. It ends with the process.
var sharedCluster = sync.OnceValues(func() (*testcluster.Cluster, error) {
	c, err := testcluster.Up(context.Background(), testcluster.Options{})
	if err != nil {
		return nil, err
	}
	if err := c.InstallGatewayAPI(context.Background(), "experimental"); err != nil {
		return nil, err
	}
	if err := c.ApplyFiles(context.Background(), dataPlaneFile); err != nil {
		return nil, err
	}
	return c, nil
})

const dataPlaneFile = "../../api/v1alpha1/cardea.dev_dataplanes.yaml"

// place is a namespace of its own in the shared cluster, and a graph that the cluster is read into.
type place struct {
	*testcluster.Cluster
	t         testing.TB
	namespace string
}

func newPlace(t testing.TB) *place {
	t.Helper()
	testcluster.Require(t)
	c, err := sharedCluster()
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.Client.CoreV1().Namespaces().
		Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := &place{c, t, made.Name}
	t.Cleanup(func() {
		if err := c.Client.CoreV1().Namespaces().Delete(context.Background(), made.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return p
}

// ref names an object of the place.
func (p *place) ref(kind model.Kind, name string) model.ObjectRef {
	return model.Ref(kind, p.namespace, name)
}

// apply writes objects; %s in the text is the place's namespace.
func (p *place) apply(text string) {
	p.t.Helper()
	if err := p.Apply(context.Background(), bytes.ReplaceAll([]byte(text), []byte("%s"), []byte(p.namespace))); err != nil {
		p.t.Fatal(err)
	}
}

// reading is a graph that the cluster is read into.
type reading struct {
	*place
	edge    *Edge
	graph   *flow.Graph
	sources *input.Sources
	log     *bytes.Buffer
	end     func() error
}

type option func(*Config)

// read begins to read the cluster; it ends with the test at the latest.
func (p *place) read(options ...option) *reading {
	p.t.Helper()
	g := flow.New(flow.Config{Name: "test", Check: true})
	r := &reading{place: p, graph: g, sources: input.New(g), log: &bytes.Buffer{}}
	g.Apply("test", func(b *flow.Batch) {
		r.sources.Environment.Set(b, model.ObjectRef{}, model.Environment{})
		r.sources.Environment.Synced(b)
	})
	c := Config{REST: rest.CopyConfig(p.Config), Graph: g, Sources: r.sources, Log: slog.New(slog.NewTextHandler(&lockedWriter{to: r.log}, nil))}
	for _, o := range options {
		o(&c)
	}
	var err error
	if r.edge, err = New(c); err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	var failed [2]error
	group.Go(func() { failed[0] = r.graph.Run(ctx) })
	group.Go(func() { failed[1] = r.edge.Run(ctx) })
	r.end = sync.OnceValue(func() error {
		cancel()
		group.Wait()
		for _, err := range failed {
			if !errors.Is(err, context.Canceled) {
				return err
			}
		}
		return nil
	})
	p.t.Cleanup(func() {
		if err := r.end(); err != nil {
			p.t.Error(err)
		}
		if p.t.Failed() {
			fmt.Fprintf(os.Stderr, "what was logged:\n%s", r.log)
		}
	})
	return r
}

// synced waits until all was read.
func (r *reading) synced() *reading {
	r.t.Helper()
	eventually(r.t, func() error {
		if s := r.edge.State(); !s.Synced || r.rev() == 0 {
			return fmt.Errorf("not synced: %+v", s)
		}
		return nil
	})
	return r
}

func (r *reading) rev() (rev flow.Rev) {
	r.graph.View(func(v flow.View) { rev = v.Rev() })
	return rev
}

// get is an object as it is in the graph.
func get[S any](r *reading, source *input.Source[S], ref model.ObjectRef) (o input.Object[S], found bool) {
	r.graph.View(func(v flow.View) { o, found = flow.Get(v, source.Collection(), ref) })
	return o, found
}

// await waits until an object in the graph is as wanted, and returns it.
func await[S any](r *reading, source *input.Source[S], ref model.ObjectRef, wanted func(input.Object[S]) bool) input.Object[S] {
	r.t.Helper()
	var o input.Object[S]
	eventually(r.t, func() error {
		var found bool
		if o, found = get(r, source, ref); !found {
			return fmt.Errorf("%s is not there", ref)
		} else if !wanted(o) {
			return fmt.Errorf("%s is %+v", ref, o)
		}
		return nil
	})
	return o
}

// awaitGone waits until an object is not in the graph.
func awaitGone[S any](r *reading, source *input.Source[S], ref model.ObjectRef) {
	r.t.Helper()
	eventually(r.t, func() error {
		if o, found := get(r, source, ref); found {
			return fmt.Errorf("%s is there: %+v", ref, o)
		}
		return nil
	})
}

func anyway[S any](input.Object[S]) bool { return true }

// history is what happened to one key, as one who follows sees it: each change once.
type history[S any] struct {
	r        *reading
	follower *flow.Follower[model.ObjectRef, input.Object[S]]
	ref      model.ObjectRef
}

func follows[S any](r *reading, source *input.Source[S], ref model.ObjectRef) *history[S] {
	h := &history[S]{r, flow.Follow(source.Collection()), ref}
	h.changes()
	r.t.Cleanup(h.follower.Stop)
	return h
}

// changes is what changed since the last call.
func (h *history[S]) changes() (list []flow.Change[model.ObjectRef, input.Object[S]]) {
	h.r.graph.View(func(v flow.View) {
		for c := range h.follower.Changes(v) {
			if c.Key == h.ref {
				list = append(list, c)
			}
		}
	})
	return list
}

// eventually asks until the answer is nil, and fails the test with the last answer.
func eventually(t testing.TB, ask func() error) {
	t.Helper()
	var last error
	for end := time.Now().Add(patient); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if last = ask(); last == nil {
			return
		}
	}
	t.Fatalf("it did not happen: %v", last)
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// kind is what the edge says of a kind.
func (r *reading) kind(kind model.Kind) KindState {
	s := r.edge.State()
	return s.Kinds[slices.IndexFunc(s.Kinds, func(k KindState) bool { return k.Kind == kind })]
}

type lockedWriter struct {
	mu sync.Mutex
	to *bytes.Buffer
}

func (w *lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(b)
}
