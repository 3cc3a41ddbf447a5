package kube

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kinds"
)

// sets is how many routes there are in the benchmark, each with a Service and an EndpointSlice.
const sets = 2000

// BenchmarkLoad reads a cluster with 2,000 routes, Services and EndpointSlices each, as an API server gives them, with
// managed fields and statuses. It reports, for each object: the CPU time (user and system, of this process), what was
// allocated on the way, and what is kept in all, in the graph's sources, and beside them.
func BenchmarkLoad(b *testing.B) {
	p := newPlace(b)
	p.apply(shopObjects)
	p.fill(sets)
	b.ResetTimer()
	for range b.N {
		runtime.GC()
		began, before := cpu(), memory()
		r := p.read(func(c *Config) {
			c.Graph = flow.New(flow.Config{}) // not in check mode
			c.Sources = kinds.NewSources(c.Graph).Sources
			c.Graph.Apply("bench", func(batch *flow.Batch) { c.Sources.Environment.MarkSynced(batch) })
		})
		r.graph, r.sources = r.edge.graph, kinds.SourcesOf(r.edge.admitter.sources)
		eventually(b, func() error {
			r.graph.Settle()
			if !r.edge.State().Synced || r.rev() == 0 {
				return fmt.Errorf("not synced")
			}
			return nil
		})
		spent, loaded := cpu()-began, memory()
		objects := 0
		for _, k := range r.edge.State().Kinds {
			objects += k.Objects
		}
		if objects < 3*sets {
			b.Fatalf("%d objects are kept", objects)
		}
		if err := r.end(); err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		runtime.GC()
		all := memory()
		r.edge.admitter = nil
		runtime.GC()
		runtime.GC()
		graph := memory()
		runtime.KeepAlive(r)
		each := func(n uint64) float64 { return float64(n) / float64(objects) }
		b.ReportMetric(float64(spent.Microseconds())/float64(objects), "cpu-us/object")
		b.ReportMetric(each(loaded.TotalAlloc-before.TotalAlloc), "allocated-B/object")
		b.ReportMetric(each(all.HeapAlloc)-each(before.HeapAlloc), "kept-B/object")
		b.ReportMetric(each(graph.HeapAlloc)-each(before.HeapAlloc), "graph-B/object")
		b.ReportMetric(each(all.HeapAlloc)-each(graph.HeapAlloc), "index-B/object")
		r.edge, r.graph, r.sources = nil, nil, nil
	}
}

// fill makes routes like those of gateway-api-bench: two rules, filters, a Service each.
func (p *place) fill(n int) {
	p.t.Helper()
	const objects = `
apiVersion: v1
kind: Service
metadata: {name: "shop-#", namespace: "%s"}
spec: {ports: [{name: http, port: 80, targetPort: 8080}], selector: {app: "shop-#"}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: "shop-#-abcde", namespace: "%s", labels: {kubernetes.io/service-name: "shop-#"}}
addressType: IPv4
endpoints:
- addresses: [10.1.2.3]
  conditions: {ready: true, serving: true, terminating: false}
  nodeName: node
  targetRef: {kind: Pod, name: a, uid: a}
- addresses: [10.1.2.4]
  conditions: {ready: true, serving: true, terminating: false}
  nodeName: node
  targetRef: {kind: Pod, name: b, uid: b}
ports: [{name: http, port: 8080}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: "shop-#", namespace: "%s"}
spec:
  parentRefs: [{name: web}]
  hostnames: ["shop-#.example"]
  rules:
  - matches: [{path: {type: PathPrefix, value: /}}]
    filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-shop, value: "#"}]}}]
    backendRefs: [{name: "shop-#", port: 80}]
  - matches: [{path: {type: PathPrefix, value: /admin}, headers: [{name: x-admin, value: "yes"}]}]
    filters: [{type: RequestRedirect, requestRedirect: {scheme: https}}]
`
	group := errgroup.Group{}
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error {
			return p.Apply(context.Background(),
				[]byte(strings.NewReplacer("%s", p.namespace, "#", fmt.Sprint(i)).Replace(objects)))
		})
	}
	if err := group.Wait(); err != nil {
		p.t.Fatal(err)
	}
}

func memory() (m runtime.MemStats) {
	runtime.ReadMemStats(&m)
	return m
}

// cpu is the time that this process has spent so far.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
