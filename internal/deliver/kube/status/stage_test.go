package status

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayclient "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/test/kubetest"
)

// waitTimeout is how long a test waits for what must happen. It is a bound for broken programs, not a measure.
const waitTimeout = 3 * time.Minute

// shared is the cluster of all tests. It ends with the process.
var shared = sync.OnceValues(func() (*kubetest.Cluster, error) {
	c, err := kubetest.Up(context.Background(), kubetest.Options{})
	if err != nil {
		return nil, err
	}
	return c, c.InstallGatewayAPI(context.Background(), "experimental")
})

// stage is a namespace in the shared cluster, and reports that a test makes up.
type stage struct {
	*kubetest.Cluster
	t         testing.TB
	namespace string
	api       gatewayclient.Interface
	graph     *flow.Graph
	classes   *flow.Source[model.ObjectRef, plan.Report[gatewayv1.GatewayClassStatus]]
	gateways  *flow.Source[model.ObjectRef, plan.Report[gatewayv1.GatewayStatus]]
	routes    *flow.Source[model.ObjectRef, plan.Report[gatewayv1.HTTPRouteStatus]]
	wire      *wire // what the edges under test ask of the API server
	metrics   *prometheus.Registry
}

func newStage(t testing.TB) *stage {
	t.Helper()
	kubetest.Require(t)
	c, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{Cluster: c, t: t, wire: &wire{}, metrics: prometheus.NewRegistry()}
	if s.api, err = gatewayclient.NewForConfig(c.Config); err != nil {
		t.Fatal(err)
	}
	made, err := c.Client.CoreV1().Namespaces().
		Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.namespace = made.Name
	t.Cleanup(s.clear)
	s.newGraph()
	return s
}

// clear takes all objects away: the next test's edge would take our entries from them.
func (s *stage) clear() {
	ctx, none, all := context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}
	for _, err := range []error{
		s.api.GatewayV1().HTTPRoutes(s.namespace).DeleteCollection(ctx, none, all),
		s.api.GatewayV1().Gateways(s.namespace).DeleteCollection(ctx, none, all),
		s.Client.CoreV1().Namespaces().Delete(ctx, s.namespace, none),
	} {
		if err != nil {
			s.t.Error(err)
		}
	}
}

// newGraph forgets all reports, as a restart does.
func (s *stage) newGraph() {
	s.graph = flow.New(flow.Config{Check: true})
	s.classes = flow.NewSource[model.ObjectRef, plan.Report[gatewayv1.GatewayClassStatus]](s.graph, "classes")
	s.gateways = flow.NewSource[model.ObjectRef, plan.Report[gatewayv1.GatewayStatus]](s.graph, "gateways")
	s.routes = flow.NewSource[model.ObjectRef, plan.Report[gatewayv1.HTTPRouteStatus]](s.graph, "routes")
	s.graph.Apply("start", func(b *flow.Batch) {
		s.classes.MarkSynced(b)
		s.gateways.MarkSynced(b)
		s.routes.MarkSynced(b)
	})
}

// run runs an edge until the test ends, or stop is called.
func (s *stage) run(changes ...func(*Config)) (stop func()) {
	s.t.Helper()
	config := rest.CopyConfig(s.Config)
	config.Wrap(s.wire.wrap)
	cfg := Config{
		REST: config, Graph: s.graph,
		Catalog: kinds.NewCatalog(),
		Reports: plan.Reports{Reporters: []plan.Reporter{
			plan.NewReporter(model.KindGatewayClass, s.classes.Collection()),
			plan.NewReporter(model.KindGateway, s.gateways.Collection()),
			plan.NewReporter(model.KindHTTPRoute, s.routes.Collection()),
		}},
		Metrics: s.metrics,
	}
	if testing.Verbose() {
		cfg.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	for _, change := range changes {
		change(&cfg)
	}
	edge, err := New(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = cfg.Graph.Run(ctx) })
	running.Go(func() {
		if err := edge.Run(ctx); err != nil {
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

// eventually asks until the answer is nil, and fails the test with the last answer.
func (s *stage) eventually(ask func() error) {
	s.t.Helper()
	var last error
	for end := time.Now().Add(waitTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if last = ask(); last == nil {
			return
		}
	}
	s.t.Fatalf("it did not happen: %v", last)
}

func (s *stage) ref(name string) model.ObjectRef {
	return model.Ref(model.KindHTTPRoute, s.namespace, name)
}

// route makes a route with parents, of generation 1.
func (s *stage) route(name string, parents ...string) {
	s.t.Helper()
	route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, p := range parents {
		route.Spec.ParentRefs = append(route.Spec.ParentRefs, gatewayv1.ParentReference{Name: gatewayv1.ObjectName(p)})
	}
	if _, err := s.api.GatewayV1().HTTPRoutes(s.namespace).Create(s.t.Context(), route,
		metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// many makes routes r0, r1 and so on, and their reports.
func (s *stage) many(n int) {
	s.t.Helper()
	var makers errgroup.Group
	makers.SetLimit(16)
	for i := range n {
		makers.Go(func() error {
			route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("r", i)}}
			route.Spec.ParentRefs = []gatewayv1.ParentReference{{Name: "web"}}
			_, err := s.api.GatewayV1().HTTPRoutes(s.namespace).Create(s.t.Context(), route, metav1.CreateOptions{})
			return err
		})
	}
	if err := makers.Wait(); err != nil {
		s.t.Fatal(err)
	}
	for i := range n {
		s.report(fmt.Sprint("r", i), says(us, "web", 1, accepted(), resolved(), programmed(true)))
	}
}

// edit makes a route's next generation, and returns it.
func (s *stage) edit(name string) int64 {
	s.t.Helper()
	patch := fmt.Sprintf(`{"spec":{"hostnames":["h%d.example.com"]}}`, time.Now().UnixNano())
	routes := s.api.GatewayV1().HTTPRoutes(s.namespace)
	made, err := routes.Patch(s.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return made.Generation
}

func (s *stage) get(name string) *gatewayv1.HTTPRoute {
	s.t.Helper()
	var route *gatewayv1.HTTPRoute
	s.eventually(func() (err error) {
		route, err = s.api.GatewayV1().HTTPRoutes(s.namespace).Get(s.t.Context(), name, metav1.GetOptions{})
		return err
	})
	return route
}

// report says what is wanted of a route; no parents: nothing.
func (s *stage) report(name string, want gatewayv1.RouteStatus) {
	s.graph.Apply("test", func(b *flow.Batch) {
		s.routes.Set(b, s.ref(name),
			plan.Report[gatewayv1.HTTPRouteStatus]{Status: gatewayv1.HTTPRouteStatus{RouteStatus: want}})
	})
}

// becomes waits for a route's status.
func (s *stage) becomes(name, want string) {
	s.t.Helper()
	s.eventually(func() error {
		if got := brief(s.get(name).Status.RouteStatus); got != want {
			return fmt.Errorf("%s is\n%swant\n%s", name, got, want)
		}
		return nil
	})
}

// calm waits until no status has been written for a while: for what must not happen there is no condition to wait for.
func (s *stage) calm(quiet time.Duration) {
	s.t.Helper()
	s.eventually(func() error {
		list := s.writes("")
		if len(list) > 0 && time.Since(list[len(list)-1].at) < quiet {
			return fmt.Errorf("still writing: %d", len(list))
		}
		return nil
	})
}

// written fails unless an object's status was written so many times.
func (s *stage) written(name string, want int) {
	s.t.Helper()
	if list := s.writes(name); len(list) != want {
		s.t.Errorf("%s was written %d times, want %d: %v", name, len(list), want, list)
	}
}

// seed writes a status as somebody else does.
func (s *stage) seed(name string, change func(*gatewayv1.RouteStatus)) *gatewayv1.HTTPRoute {
	s.t.Helper()
	var made *gatewayv1.HTTPRoute
	s.eventually(func() (err error) {
		route := s.get(name)
		change(&route.Status.RouteStatus)
		made, err = s.api.GatewayV1().HTTPRoutes(s.namespace).UpdateStatus(s.t.Context(), route, metav1.UpdateOptions{})
		return err
	})
	return made
}

// entryOf is the entry of a controller as JSON, "" if it has none.
func entryOf(status gatewayv1.RouteStatus, controller string) string {
	i := slices.IndexFunc(status.Parents,
		func(p gatewayv1.RouteParentStatus) bool { return string(p.ControllerName) == controller })
	if i < 0 {
		return ""
	}
	text, err := json.Marshal(status.Parents[i])
	if err != nil {
		panic(err)
	}
	return string(text)
}

// counted is what a metric with these labels counts.
func (s *stage) counted(name string, labels ...string) float64 {
	s.t.Helper()
	families, err := s.metrics.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if f.GetName() == name && slices.Equal(values, labels) {
				return m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount()) + m.GetGauge().GetValue()
			}
		}
	}
	return 0
}
