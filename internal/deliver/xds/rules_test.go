package xds

import (
	"fmt"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// simple is a world of one listener, one table and one cluster with one backend.
func simple(t *testing.T, change ...func(*listenerv3.Listener, *hcmv3.HttpConnectionManager)) (w *world, p *proxy,
	port int) {
	t.Helper()
	w = newWorld(t)
	port = freePorts(t, 1)[0]
	a := backend(t, "a")
	w.sync(func(e edits) {
		e.set(xdstypes.Cluster, "a", cluster(edsCluster("a")))
		e.set(xdstypes.Endpoints, "a", endpoints("a", a))
		e.set(xdstypes.Listener, "l", listener("l", port, "t", change...))
		e.set(xdstypes.Routes, "t", toCluster("t", "a"))
	})
	p = startEnvoy(t, w)
	answers(t, port, "x.test", "/", "200 a")
	eventually(t, "acknowledged", func() bool { return w.proxies().Acknowledged == 1 })
	return w, p, port
}

func TestEnvoyStarts(t *testing.T) {
	w, p, _ := simple(t)
	p.live()
	if got := w.proxies(); got != (resource.ProxySummary{Connected: 1, Acknowledged: 1, Version: "1.40.0"}) {
		t.Errorf("proxies: %+v", got)
	}
	for typ, name := range map[resource.Type]string{xdstypes.Cluster: "a", xdstypes.Endpoints: "a",
		xdstypes.Listener: "l", xdstypes.Routes: "t"} {
		r := map[resource.Type]resource.Resource{
			xdstypes.Routes: toCluster("t", "a"), xdstypes.Cluster: cluster(edsCluster("a")),
		}[typ]
		if r.Parts == nil {
			continue
		}
		f := r.Parts[len(r.Parts)-1].Fragments[0]
		eventually(t, fmt.Sprintf("%s %s is acknowledged", xdstypes.Name(typ), name), func() bool {
			return w.acked(typ, name,
				f.Origin) == f.Hash
		})
	}
}

// A route flips between clusters that come and go with it: clusters and endpoints are there before it, and leave after
// it.
func TestRule3RouteLeavesAfterItsClusters(t *testing.T) {
	w, p, port := simple(t)
	b := backend(t, "b")
	f := startTraffic(port, "x.test", "y.test", "z.test")
	last := "a"
	for i := range 20 {
		next := fmt.Sprintf("c%d", i)
		w.turn(func(e edits) {
			e.set(xdstypes.Cluster, next, cluster(edsCluster(next)))
			e.set(xdstypes.Endpoints, next, endpoints(next, b))
			e.set(xdstypes.Routes, "t", toCluster("t", next))
			e.delete(xdstypes.Cluster, last)
			e.delete(xdstypes.Endpoints, last)
		})
		f.called(t, 30)
		last = next
	}
	f.stop(t)
	eventually(t, "only the last cluster is left", func() bool {
		c := p.clusters()
		return len(c) == 1 && c[last]
	})
}
