package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/test/kubetest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		os.Exit(child())
	}
	kubetest.Main(m)
}

// waitTimeout is how long a test waits for what must happen. It is a bound for broken programs, not a measure.
const waitTimeout = time.Minute

// shared is the cluster of all tests. It ends with the process.
var shared = sync.OnceValues(func() (*kubetest.Cluster, error) {
	c, err := kubetest.Up(context.Background(), kubetest.Options{})
	if err != nil {
		return nil, err
	}
	return c, c.InstallGatewayAPI(context.Background(), "experimental")
})

// stage is a namespace in the shared cluster, and a ledger of its own.
type stage struct {
	*store.Store
	t         testing.TB
	cluster   *kubetest.Cluster
	objects   dynamic.Interface
	namespace string
	path      string // of the ledger
	metrics   *prometheus.Registry
	counts    *Metrics // of all workers
	log       *logged
}

const clusterName = "east"

func newStage(t testing.TB, changes ...func(*ledger.Target)) *stage {
	t.Helper()
	kubetest.Require(t)
	c, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, cluster: c, path: filepath.Join(t.TempDir(), "ledger.db"), metrics: prometheus.NewRegistry(),
		log: &logged{}}
	if s.objects, err = dynamic.NewForConfig(quiet(c.Config)); err != nil {
		t.Fatal(err)
	}
	s.counts, err = NewMetrics(s.metrics)
	s.must(err)
	s.namespace = s.newNamespace("test-")
	if s.Store, err = store.Open(t.Context(), store.Config{URL: s.path}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("what was logged:\n%s", s.log)
		}
	})
	s.must(s.SetCluster(t.Context(), ledger.Cluster{Name: clusterName}, "test"))
	s.target(changes...)
	return s
}

func quiet(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.WarningHandlerWithContext = rest.NoWarnings{}
	return config
}

// target sets what the default target wants.
func (s *stage) target(changes ...func(*ledger.Target)) {
	s.t.Helper()
	target := ledger.Target{Name: ledger.DefaultTarget, Server: ledger.Clusters}
	for _, change := range changes {
		change(&target)
	}
	s.must(s.SetTarget(s.t.Context(), target, "test"))
}

func existing(e ledger.Existing) func(*ledger.Target) {
	return func(t *ledger.Target) { t.Existing = e }
}

func drift(d ledger.Drift) func(*ledger.Target) { return func(t *ledger.Target) { t.Drift = d } }

func (s *stage) newNamespace(prefix string) string {
	s.t.Helper()
	made, err := s.cluster.Client.CoreV1().Namespaces().Create(context.Background(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}, metav1.CreateOptions{})
	s.must(err)
	s.t.Cleanup(func() {
		_ = s.cluster.Client.CoreV1().Namespaces().Delete(context.Background(), made.Name, metav1.DeleteOptions{})
	})
	return made.Name
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// config is one of a worker that asks often what it asks seldom else.
func (s *stage) config(name string) Config {
	return Config{Work: s.Store, Targets: s.Targets, Changes: s.Store, REST: kubeclient.NoRetryConfig(s.cluster.Config),
		Cluster: clusterName, Worker: name, Recheck: 200 * time.Millisecond, Metrics: s.counts,
		Log: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
}

// run runs a worker until the test ends, or stop is called.
func (s *stage) run(changes ...func(*Config)) (stop func()) {
	s.t.Helper()
	c := s.config("one")
	for _, change := range changes {
		change(&c)
	}
	w, err := New(c)
	s.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.Run(ctx); err != nil {
			s.t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	s.t.Cleanup(stop)
	return stop
}

// read is the object of a YAML text; %s is the stage's namespace.
func (s *stage) read(text string) map[string]any {
	s.t.Helper()
	object := map[string]any{}
	s.must(yaml.Unmarshal([]byte(strings.ReplaceAll(text, "%s", s.namespace)), &object))
	// as JSON, so that numbers are as everywhere
	u := &unstructured.Unstructured{Object: object}
	b, err := u.MarshalJSON()
	s.must(err)
	s.must(u.UnmarshalJSON(b))
	return u.Object
}

// edit is one that makes an object what a text says.
func (s *stage) edit(text string) ledger.Edit {
	s.t.Helper()
	k, content, err := ledger.ContentOf(ledger.DefaultTarget, s.read(text))
	s.must(err)
	return ledger.Edit{Key: k, Content: content}
}

// put makes one change of the objects of texts.
func (s *stage) put(texts ...string) ledger.Change {
	s.t.Helper()
	var d ledger.Draft
	for _, text := range texts {
		d.Edits = append(d.Edits, s.edit(text))
	}
	return s.commit(d)
}

func (s *stage) commit(d ledger.Draft) ledger.Change {
	s.t.Helper()
	d.Author = "alice"
	c, err := s.Commit(s.t.Context(), d)
	s.must(err)
	return c
}

func (s *stage) delete(k ledger.Key) ledger.Change {
	s.t.Helper()
	return s.commit(ledger.Draft{Verb: ledger.Delete, Edits: []ledger.Edit{{Key: k, Delete: true}}})
}

// status is what became of an object; the cluster's part, too.
func (s *stage) status(k ledger.Key) (ledger.Status, ledger.InCluster) {
	s.t.Helper()
	list, err := s.Status(s.t.Context(), ledger.StatusQuery{Keys: []ledger.Key{k}, Cluster: clusterName})
	s.must(err)
	if len(list) != 1 || len(list[0].Clusters) != 1 {
		s.t.Fatalf("the status of %s is %+v", k, list)
	}
	return list[0], list[0].Clusters[0]
}

// becomes waits until the status of an object is as wanted.
func (s *stage) becomes(k ledger.Key, wanted func(ledger.Status, ledger.InCluster) bool) ledger.InCluster {
	s.t.Helper()
	var in ledger.InCluster
	s.eventually(func() error {
		var all ledger.Status
		if all, in = s.status(k); !wanted(all, in) {
			return fmt.Errorf("the status of %s is %+v, applied %+v", k, all, in.Applied)
		}
		return nil
	})
	return in
}

// synced waits until an object is applied and seen in its newest generation.
func (s *stage) synced(k ledger.Key) ledger.InCluster {
	s.t.Helper()
	return s.becomes(k, func(all ledger.Status, in ledger.InCluster) bool {
		return all.SummaryState() == "synced" && in.Due.IsZero()
	})
}

// fails waits until an object can't be applied, with a code.
func (s *stage) fails(k ledger.Key, code string) ledger.Applied {
	s.t.Helper()
	return *s.becomes(k, func(_ ledger.Status, in ledger.InCluster) bool {
		return in.Applied != nil && in.Applied.Code == code
	}).Applied
}

// forgotten waits until an object is deleted, and nothing is known of it in the cluster any more.
func (s *stage) forgotten(k ledger.Key) {
	s.t.Helper()
	s.becomes(k, func(all ledger.Status, in ledger.InCluster) bool {
		return all.Deleted && in.Applied == nil && in.Due.IsZero()
	})
	if live := s.live(k); live != nil && live.GetAnnotations()[ledger.ObjectAnnotation] != "" {
		s.t.Errorf("%s is there: %v", k, live.Object)
	}
}

// place is where requests for an object go.
func (s *stage) place(k ledger.Key) dynamic.ResourceInterface {
	s.t.Helper()
	api, err := newAPI(s.cluster.Config, waitTimeout)
	s.must(err)
	m, err := api.findMapping(s.t.Context(), groupKind(k), "")
	s.must(err)
	if k.Namespace == "" {
		return s.objects.Resource(m.Resource)
	}
	return s.objects.Resource(m.Resource).Namespace(k.Namespace)
}

// live is an object as it is in the cluster; nil: it is not there.
func (s *stage) live(k ledger.Key) *unstructured.Unstructured {
	s.t.Helper()
	o, err := s.place(k).Get(context.Background(), k.Name, metav1.GetOptions{})
	if isMissing(err) {
		return nil
	}
	s.must(err)
	return o
}

// isThere waits until an object in the cluster is as wanted.
func (s *stage) isThere(k ledger.Key, wanted func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
	s.t.Helper()
	var o *unstructured.Unstructured
	s.eventually(func() error {
		if o = s.live(k); o == nil {
			return fmt.Errorf("%s is not there", k)
		} else if !wanted(o) {
			return fmt.Errorf("%s is %v", k, o.Object)
		}
		return nil
	})
	return o
}

// merge changes an object as another client does.
func (s *stage) merge(k ledger.Key, by, patch string) *unstructured.Unstructured {
	s.t.Helper()
	o, err := s.place(k).Patch(context.Background(), k.Name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: by})
	s.must(err)
	return o
}

// create makes an object as another client does.
func (s *stage) create(by, text string) (ledger.Key, *unstructured.Unstructured) {
	s.t.Helper()
	k := s.edit(text).Key
	o, err := s.place(k).Create(context.Background(), &unstructured.Unstructured{Object: s.read(text)},
		metav1.CreateOptions{FieldManager: by})
	s.must(err)
	return k, o
}

// eventually asks until the answer is nil, and fails the test with the last answer.
func (s *stage) eventually(ask func() error) {
	s.t.Helper()
	last := errors.New("it was not asked")
	for end := time.Now().Add(waitTimeout); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if last = ask(); last == nil {
			return
		}
	}
	s.t.Fatalf("it did not happen: %v", last)
}

// counted is the sum of a metric's samples that have a label with a value; "": all.
func (s *stage) counted(name, label string) (n float64) {
	s.t.Helper()
	families, err := s.metrics.Gather()
	s.must(err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			has := label == ""
			for _, l := range m.GetLabel() {
				has = has || l.GetValue() == label
			}
			if f.GetName() == name && has {
				n += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return n
}

// field is a value of an object, by its path.
func field(o *unstructured.Unstructured, path ...string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	return v
}

// logged is what was logged.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
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
