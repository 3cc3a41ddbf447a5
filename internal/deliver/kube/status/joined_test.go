package status_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayclient "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"

	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
	"cardea.dev/cardea/internal/deliver/kube/status"
	"cardea.dev/cardea/internal/source/kube"
	"cardea.dev/cardea/internal/test/kubetest"
)

const joinedObjects = `
apiVersion: v1
kind: Namespace
metadata: {name: joined}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: cardea}
spec: {controllerName: cardea.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: joined}
spec:
  gatewayClassName: cardea
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
apiVersion: v1
kind: Service
metadata: {name: app, namespace: joined}
spec: {ports: [{port: 80}]}
`

const joinedRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: joined}
spec:
  parentRefs: [{name: web}]
  hostnames: [%[1]s.example.com]
  rules: [{backendRefs: [{name: app, port: 80}]}]
`

// counter counts the statuses that are written, by path.
type counter struct {
	mu    sync.Mutex
	paths map[string]int
}

func (c *counter) wrap(next http.RoundTripper) http.RoundTripper { return counted{c, next} }

type counted struct {
	c    *counter
	next http.RoundTripper
}

func (t counted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/status") {
		t.c.mu.Lock()
		t.c.paths[strings.TrimSuffix(r.URL.Path[strings.LastIndex(strings.TrimSuffix(r.URL.Path, "/status"), "/")+1:],
			"/status")]++
		t.c.mu.Unlock()
	}
	return t.next.RoundTrip(r)
}

// take returns the counts and begins anew.
func (c *counter) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.paths
	c.paths = map[string]int{}
	return counts
}

// acknowledge plays one proxy of a Gateway, that takes whatever it gets, a moment later.
func acknowledge(ctx context.Context, w *world.World, gateway model.ObjectRef) {
	var followers []*flow.Follower[resource.Key, resource.Resource]
	for _, c := range w.Outputs.Resources {
		followers = append(followers, flow.Follow(c))
	}
	for range w.Graph.Watch(ctx) {
		var changes []flow.Change[resource.Key, resource.Resource]
		w.Graph.View(func(v flow.View) {
			for _, f := range followers {
				for change := range f.Changes(v) {
					changes = append(changes, change)
				}
			}
		})
		if len(changes) == 0 {
			continue
		}
		time.Sleep(20 * time.Millisecond) // it is a long way to a proxy and back
		w.Graph.Apply("proxies", func(b *flow.Batch) {
			w.Feedback.Proxies.Set(b, gateway, resource.ProxySummary{Connected: 1, Acknowledged: 1})
			for _, change := range changes {
				if change.Key.Type == xdstypes.Routes {
					w.Feedback.Acked.Set(b, resource.TableAckKey(change.Key), 0)
				}
				for _, p := range change.Value.Parts {
					for _, f := range p.Fragments {
						w.Feedback.Acked.Set(b, resource.AckKey{Resource: change.Key, Origin: f.Origin, Variant: f.Variant}, f.Hash)
					}
				}
			}
		})
	}
}

// TestAnEditOfARouteIsOneWriteOfItsStatus joins the edges with everything between them: of each edit one status is
// written, once, and no neighbour's.
func TestAnEditOfARouteIsOneWriteOfItsStatus(t *testing.T) {
	kubetest.Require(t)
	cluster, err := status.Shared()
	if err != nil {
		t.Fatal(err)
	}
	client, err := gatewayclient.NewForConfig(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"a", "b", "c", "d"}
	text := joinedObjects
	for _, name := range names {
		text += "---" + fmt.Sprintf(joinedRoute, name)
	}
	if err := cluster.Apply(t.Context(), []byte(text)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		none := metav1.DeleteOptions{}
		_ = client.GatewayV1().GatewayClasses().Delete(context.Background(), "cardea", none)
		_ = cluster.Client.CoreV1().Namespaces().Delete(context.Background(), "joined", none)
	})

	w := world.New(world.Config{
		Dialects: dataplanes.All(), Check: true, Environment: model.Environment{Addresses: []string{"192.0.2.1"}},
	})
	edge, err := kube.New(kube.Config{REST: cluster.Config, Graph: w.Graph, Sources: w.Sources.Sources})
	if err != nil {
		t.Fatal(err)
	}
	counts := &counter{paths: map[string]int{}}
	config := rest.CopyConfig(cluster.Config)
	config.Wrap(counts.wrap)
	statuses, err := status.New(status.Config{REST: config, Graph: w.Graph, Catalog: w.Sources.Catalog,
		Reports: w.Reports})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{w.Graph.Run, edge.Run, statuses.Run} {
		running.Go(func() { _ = run(ctx) })
	}
	running.Go(func() { acknowledge(ctx, w, model.Ref(model.KindGateway, "joined", "web")) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})

	routes := client.GatewayV1().HTTPRoutes("joined")
	programmed := func(name string, generation int64) {
		t.Helper()
		var last string
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			route, err := routes.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			last = fmt.Sprintf("%+v", route.Status)
			if len(route.Status.Parents) == 1 {
				c := route.Status.Parents[0].Conditions[2]
				if c.Type == "cardea.dev/Programmed" && c.Status == "True" && c.ObservedGeneration == generation {
					return
				}
			}
		}
		t.Fatalf("%s is not programmed: %s", name, last)
	}
	edit := func(name string, n int64) {
		t.Helper()
		patch := fmt.Sprintf(`{"spec":{"rules":[{"backendRefs":[{"name":"app","port":80}],"filters":[
			{"type":"RequestHeaderModifier","requestHeaderModifier":{"set":[{"name":"x-edit","value":"%d"}]}}]}]}}`, n)
		route, err := routes.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		programmed(name, route.Generation)
	}
	web := func(what string, is func(*gatewayv1.Gateway) bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			g, err := client.GatewayV1().Gateways("joined").Get(t.Context(), "web", metav1.GetOptions{})
			switch {
			case err != nil:
				t.Fatal(err)
			case is(g):
				return
			case time.Now().After(end):
				t.Fatalf("the status of web has no %s: %+v", what, g.Status)
			}
		}
	}
	// written are the writes of all that was done before: what came after it, an edit of d and one of web, which the
	// watches tell in order, is written, too, and then nothing is left to write. These two have a write each.
	marks := int64(0)
	written := func() map[string]int {
		t.Helper()
		marks++
		edit("d", marks)
		mark := fmt.Appendf(nil, `{"spec":{"infrastructure":{"labels":{"example.com/mark":"%d"}}}}`, marks)
		marked, err := client.GatewayV1().Gateways("joined").Patch(t.Context(), "web", types.MergePatchType, mark,
			metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		web("mark", func(g *gatewayv1.Gateway) bool {
			return len(g.Status.Conditions) > 0 && g.Status.Conditions[0].ObservedGeneration == marked.Generation
		})
		for end := time.Now().Add(time.Minute); !statuses.Idle(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("there is always something to write")
			}
		}
		return counts.take()
	}
	attached := func(n int32) {
		t.Helper()
		web(fmt.Sprint(n, " routes"), func(g *gatewayv1.Gateway) bool {
			return len(g.Status.Listeners) > 0 && g.Status.Listeners[0].AttachedRoutes == n
		})
	}
	for _, name := range names {
		programmed(name, 1)
	}
	attached(int32(len(names)))
	t.Logf("at first: %v", written())
	const edits = 20
	for i := range int64(edits) {
		edit("a", i)
	}
	if got, want := written(), map[string]int{"a": edits, "d": 1, "web": 1}; !maps.Equal(got, want) {
		t.Errorf("%d edits of a made writes %v, want %v", edits, got, want)
	}
	// A new route is accepted and acknowledged in one write, and its Gateway counts one more.
	if err := cluster.Apply(t.Context(), []byte(fmt.Sprintf(joinedRoute, "new"))); err != nil {
		t.Fatal(err)
	}
	programmed("new", 1)
	attached(int32(len(names)) + 1)
	if got, want := written(), map[string]int{"new": 1, "d": 1, "web": 2}; !maps.Equal(got, want) {
		t.Errorf("a new route made writes %v, want %v", got, want)
	}
	followBackend(t, cluster, client)
}

const joinedBackend = `
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: far, namespace: joined}
spec: {type: ExternalHostname, port: {number: 80}, externalHostname: {hostname: far.example}, protocol: %s}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: far, namespace: joined}
spec:
  parentRefs: [{name: web}]
  rules: [{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: far}]}]
`

// followBackend sees an XBackend's status get an entry for the Gateway that uses it, turn, and lose it.
func followBackend(t *testing.T, cluster *kubetest.Cluster, client *gatewayclient.Clientset) {
	t.Helper()
	await := func(want string) {
		t.Helper()
		var last string
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			b, err := client.ExperimentalV1alpha1().XBackends("joined").Get(t.Context(), "far", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if last = ""; len(b.Status.Ancestors) > 0 {
				a := b.Status.Ancestors[0]
				for _, c := range a.Conditions {
					last += fmt.Sprintf("%s %s=%s %s %d; ", a.AncestorRef.Name, c.Type, c.Status, c.Reason, c.ObservedGeneration)
				}
			}
			if last == want {
				return
			}
		}
		t.Fatalf("the XBackend's status is %q, want %q", last, want)
	}
	for i, c := range []struct{ protocol, accepted string }{{"HTTP", "True Accepted"},
		{"TCP", "False UnsupportedProtocol"}} {
		if err := cluster.Apply(t.Context(), fmt.Appendf(nil, joinedBackend, c.protocol)); err != nil {
			t.Fatal(err)
		}
		await(fmt.Sprintf("web Accepted=%s %d; web ResolvedRefs=True ResolvedRefs %[2]d; ", c.accepted, i+1))
	}
	if err := client.GatewayV1().HTTPRoutes("joined").Delete(t.Context(), "far", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await("")
}
