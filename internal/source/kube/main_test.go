package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/test/kubetest"
)

func TestMain(m *testing.M) {
	rest.SetDefaultWarningHandler(rest.NoWarnings{}) // what tests write as a certificate is none
	kubetest.Main(m)
}

// patient is how long a test waits for what must happen. It is a bound for broken programs, not a measure.
const patient = 60 * time.Second

// installAll installs every kind that Cardea reads.
func installAll(c *kubetest.Cluster) error {
	if err := c.InstallGatewayAPI(context.Background(), "experimental"); err != nil {
		return err
	}
	return c.ApplyFiles(context.Background(), "../../../api/v1alpha1/cardea.dev_dataplanes.yaml",
		"../../../api/agentic/v0alpha0/agentic.networking.x-k8s.io_xbackends.yaml",
		"../../../api/inference/v1/inference.networking.k8s.io_inferencepools.yaml",
		"../../../api/inference/v1alpha2/inference.networking.x-k8s.io_inferencemodelrewrites.yaml",
		"../../../api/inference/v1alpha2/inference.networking.x-k8s.io_inferenceobjectives.yaml")
}

// place is a namespace of its own in the shared cluster, and a graph that the cluster is read into.
type place struct {
	*kubetest.Cluster
	t         testing.TB
	namespace string
}

func newPlace(t testing.TB) *place {
	t.Helper()
	c := kubetest.Shared(t, installAll)
	p := &place{c, t, c.Namespace(t)}
	t.Cleanup(func() {
		err := c.Client.RESTClient().Delete().AbsPath("/apis/gateway.networking.k8s.io/v1/gatewayclasses/" +
			p.namespace).Do(context.Background()).Error()
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	return p
}

// ref names an object of the place.
func (p *place) ref(kind model.Kind, name string) model.ObjectRef {
	return model.Ref(kind, p.namespace, name)
}

// apply writes objects; %s in the text is the place's namespace, which is also the name of its GatewayClass if it has
// one.
func (p *place) apply(text string) {
	p.t.Helper()
	if err := p.Apply(context.Background(), []byte(strings.ReplaceAll(text, "%s", p.namespace))); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) path(path string) string { return strings.ReplaceAll(path, "%s", p.namespace) }

type (
	routeObject   = input.Object[gatewayv1.HTTPRouteSpec]
	serviceObject = input.Object[corev1.ServiceSpec]
)

// reading is a graph that the cluster is read into.
type reading struct {
	*place
	edge    *Watcher
	graph   *flow.Graph
	sources *kinds.Sources
	log     *logged
	end     func() error
}

type option func(*Config)

// catalog is of the kinds that are read.
var catalog = kinds.NewCatalog()

// read is what is kept of an object that the API server sends; of a Secret what listeners need.
func read(o metav1.Object) (*object, error) {
	name := reflect.TypeOf(o).Elem().Name()
	i := slices.IndexFunc(catalog.All(), func(k *kind.Kind) bool {
		return k.String() == name || k.ReadScope == kind.MetadataOnly && name == "PartialObjectMetadata"
	})
	k := catalog.All()[i]
	if k.Definition == nil {
		return trimObject(k, o, kind.PairKeys)
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	k.Content.Install(scheme, k.GroupVersion(0), k.String())
	sent, err := scheme.New(k.GroupVersion(0).WithKind(k.String()))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, sent); err != nil {
		return nil, err
	}
	return trimObject(k, sent, kind.PairKeys)
}

// read begins to read the cluster; it ends with the test at the latest.
func (p *place) read(options ...option) *reading {
	p.t.Helper()
	return p.readKinds(catalog, options...)
}

// readKinds is read of the kinds of a catalog.
func (p *place) readKinds(catalog *kind.Catalog, options ...option) *reading {
	p.t.Helper()
	g := flow.New(flow.Config{Name: "test", Check: true})
	r := &reading{place: p, graph: g, sources: kinds.SourcesOf(input.New(g, catalog)), log: &logged{}}
	g.Apply("test", func(b *flow.Batch) {
		r.sources.Environment.Set(b, model.ObjectRef{}, model.Environment{})
		r.sources.Environment.MarkSynced(b)
	})
	c := Config{REST: rest.CopyConfig(p.Config), Graph: g, Sources: r.sources.Sources,
		Log: slog.New(slog.NewTextHandler(r.log, nil))}
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
	label := strconv.FormatInt(labels.Add(1), 10)
	group.Go(func() {
		pprof.Do(ctx, pprof.Labels(labelKey, label), func(ctx context.Context) { failed[1] = r.edge.Run(ctx) })
	})
	r.end = sync.OnceValue(func() error {
		cancel()
		group.Wait()
		for _, err := range failed {
			if !errors.Is(err, context.Canceled) {
				return err
			}
		}
		return leftovers(label)
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

// Goroutines inherit the label of the one that started them.
const labelKey = "reading"

var labels atomic.Int64

// leftovers finds goroutines that a reading has left running. Connections are kept for the next one.
func leftovers(label string) error {
	var left string
	for end := time.Now().Add(patient); time.Now().Before(end); time.Sleep(10 * time.Millisecond) { // some are ending
		var profile bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
			return err
		}
		left = ""
		for _, stack := range strings.Split(profile.String(), "\n\n") {
			ours := strings.Contains(stack, fmt.Sprintf("%q:%q", labelKey, label))
			if ours && !strings.Contains(stack, "readLoop") && !strings.Contains(stack, "writeLoop") {
				left += stack + "\n\n"
			}
		}
		if left == "" {
			return nil
		}
	}
	return fmt.Errorf("goroutines are left:\n%s", left)
}

// slowly has time pass more slowly for a reading, so that a machine that is busy is still fast enough for it. Then 100
// ms are two seconds.
func slowly(c *Config) {
	began := time.Now()
	c.Now = func() time.Time { return began.Add(time.Since(began) / 20) }
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
func await[S any](
	r *reading, source *input.Source[S], ref model.ObjectRef, wanted func(input.Object[S]) bool,
) input.Object[S] {
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

// kind is what the edge says of a kind.
func (r *reading) kind(kind model.Kind) KindState {
	s := r.edge.State()
	return s.Kinds[slices.IndexFunc(s.Kinds, func(k KindState) bool { return k.Kind == kind })]
}

// logged is what was logged.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
