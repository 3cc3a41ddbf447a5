package xds

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// client is a gRPC client on a delta stream.
type client struct {
	t      testing.TB
	conn   *grpc.ClientConn
	stream grpc.BidiStreamingClient[discoveryv3.DeltaDiscoveryRequest, discoveryv3.DeltaDiscoveryResponse]
	in     chan *discoveryv3.DeltaDiscoveryResponse
	node   *corev3.Node // sent with the first request
	end    chan error

	markers int
}

func dial(t testing.TB, w *world) *client {
	t.Helper()
	conn, err := grpc.NewClient("unix:"+w.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	s, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{
		t: t, conn: conn, stream: s, node: &corev3.Node{Id: "client"},
		in: make(chan *discoveryv3.DeltaDiscoveryResponse, 1000), end: make(chan error, 1),
	}
	go func() {
		for {
			m, err := s.Recv()
			if err != nil {
				c.end <- err
				close(c.in)
				return
			}
			c.in <- m
		}
	}()
	t.Cleanup(func() { cancel(); conn.Close() })
	return c
}

func (c *client) send(req *discoveryv3.DeltaDiscoveryRequest) {
	c.t.Helper()
	req.Node, c.node = c.node, nil
	if err := c.stream.Send(req); err != nil {
		c.t.Fatal(err)
	}
}

// ask subscribes: names for those types that have them, and what the client has by version.
func (c *client) ask(typ resource.Type, has map[string]string, names ...string) {
	c.t.Helper()
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: xdstypes.URL(typ), InitialResourceVersions: has,
		ResourceNamesSubscribe: names})
}

func (c *client) ack(m *discoveryv3.DeltaDiscoveryResponse) {
	c.t.Helper()
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: m.TypeUrl, ResponseNonce: m.Nonce})
}

func (c *client) nack(m *discoveryv3.DeltaDiscoveryResponse, message string) {
	c.t.Helper()
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: m.TypeUrl, ResponseNonce: m.Nonce,
		ErrorDetail: &statuspb.Status{Message: message}})
}

// next is the next response: "Cluster +a -b".
func (c *client) next() (*discoveryv3.DeltaDiscoveryResponse, string) {
	c.t.Helper()
	select {
	case m, ok := <-c.in:
		if !ok {
			c.t.Fatalf("the stream ended: %v", <-c.end)
		}
		typ, _ := xdstypes.OfURL(m.TypeUrl)
		words := []string{xdstypes.Name(typ)}
		for _, r := range m.Resources {
			words = append(words, "+"+r.Name)
		}
		for _, n := range m.RemovedResources {
			words = append(words, "-"+n)
		}
		return m, strings.Join(words, " ")
	case <-time.After(30 * time.Second):
		c.t.Fatal("no response")
		return nil, ""
	}
}

// wants reads one response, which must be this one.
func (c *client) wants(want string) *discoveryv3.DeltaDiscoveryResponse {
	c.t.Helper()
	m, got := c.next()
	if got != want {
		c.t.Fatalf("got %q, want %q", got, want)
	}
	return m
}

// nothing checks that what was asked before led to no further response: it asks for something that is always answered.
func (c *client) nothing() {
	c.t.Helper()
	c.markers++
	marker := fmt.Sprintf("marker%d", c.markers)
	c.ask(xdstypes.Secret, nil, marker)
	c.wants("Secret -" + marker)
}

func versions(ms ...*discoveryv3.DeltaDiscoveryResponse) map[string]string {
	v := map[string]string{}
	for _, m := range ms {
		for _, r := range m.Resources {
			v[r.Name] = r.Version
		}
	}
	return v
}

// fill makes n clusters with endpoints, and a table that names them all.
func fill(e edits, n int) {
	var hosts []host
	for i := range n {
		name := fmt.Sprintf("c%03d", i)
		e.set(xdstypes.Cluster, name, cluster(edsCluster(name)))
		e.set(xdstypes.Endpoints, name, endpoints(name, 1000+i))
		hosts = append(hosts, host{name + ".test", []hostRule{{name: name, cluster: name}}})
	}
	e.set(xdstypes.Listener, "l", listener("l", 1, "t"))
	e.set(xdstypes.Routes, "t", table("t", hosts, nil))
}

func clusterNames(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("c%03d", i))
	}
	return names
}

// load connects as a fresh proxy and returns what it got, all acknowledged.
func load(t *testing.T, w *world, n int) (c *client, cds, eds, lds, rds *discoveryv3.DeltaDiscoveryResponse) {
	c = dial(t, w)
	c.ask(xdstypes.Cluster, nil)
	cds, _ = c.next()
	c.ask(xdstypes.Endpoints, nil, clusterNames(n)...)
	eds, _ = c.next()
	c.ack(cds)
	c.ack(eds)
	c.ask(xdstypes.Listener, nil)
	lds = c.wants("Listener +l")
	c.ask(xdstypes.Routes, nil, "t")
	rds = c.wants("Routes +t")
	c.ack(lds)
	c.ack(rds)
	return c, cds, eds, lds, rds
}

func TestReconnectWithKnownVersionsGetsOneEmptyResponse(t *testing.T) {
	w := newWorld(t)
	w.sync(func(e edits) { fill(e, 50) })
	c, cds, eds, lds, rds := load(t, w, 50)
	if len(cds.Resources) != 50 || len(eds.Resources) != 50 {
		t.Fatalf("%d clusters, %d endpoints", len(cds.Resources), len(eds.Resources))
	}
	c.conn.Close()

	c = dial(t, w)
	c.ask(xdstypes.Cluster, versions(cds))
	c.ask(xdstypes.Endpoints, versions(eds), clusterNames(50)...)
	c.ask(xdstypes.Listener, versions(lds))
	c.ask(xdstypes.Routes, versions(rds), "t")
	c.ack(c.wants("Cluster"))
	c.nothing()
	eventually(t, "it counts without having been sent anything", func() bool { return w.proxies().Acknowledged == 1 })

	// Later changes reach it.
	w.turn(func(e edits) { e.set(xdstypes.Endpoints, "c007", endpoints("c007", 1)) })
	c.wants("Endpoints +c007")
}

func TestReconnectComputesDeletions(t *testing.T) {
	w := newWorld(t)
	w.sync(func(e edits) { fill(e, 3) })
	c, cds, eds, lds, rds := load(t, w, 3)
	c.conn.Close()
	w.turn(func(e edits) {
		fill(e, 2)
		e.delete(xdstypes.Cluster, "c002")
		e.delete(xdstypes.Endpoints, "c002")
		e.set(xdstypes.Listener, "m", listener("m", 2, "t"))
		e.delete(xdstypes.Listener, "l")
	})
	came := listener("m", 2, "t").Parts[0].Fragments[0].Origin
	eventually(t, "the server has seen the turn", func() bool { return w.offered(xdstypes.Listener, "m", came) != 0 })
	c = dial(t, w)
	c.ask(xdstypes.Cluster, versions(cds))
	c.ask(xdstypes.Endpoints, versions(eds), clusterNames(3)...)
	c.ask(xdstypes.Listener, versions(lds))
	c.ask(xdstypes.Routes, versions(rds), "t")
	c.wants("Cluster")
	l := c.wants("Listener +m -l")
	r := c.wants("Routes +t")
	c.nothing()
	c.ack(l)
	c.nothing()
	c.ack(r)
	c.wants("Cluster -c002")
}

func TestRule1AddsAndRemovalsOfClustersTravelApart(t *testing.T) {
	w := newWorld(t)
	w.sync(func(e edits) { fill(e, 2) })
	c, _, _, _, _ := load(t, w, 2)
	w.turn(func(e edits) {
		e.set(xdstypes.Cluster, "new", cluster(edsCluster("new")))
		e.set(xdstypes.Endpoints, "new", endpoints("new", 9))
		e.set(xdstypes.Routes, "t", toCluster("t", "new"))
		for _, n := range clusterNames(2) {
			e.delete(xdstypes.Cluster, n)
			e.delete(xdstypes.Endpoints, n)
		}
	})
	c.wants("Cluster +new") // not acknowledged: nothing waits for it
	c.wants("Endpoints +new")
	r := c.wants("Routes +t")
	c.nothing()
	c.ack(r)
	gone := c.wants("Cluster -c000 -c001")
	c.nothing() // the endpoints stay until the clusters are gone
	c.ack(gone)
	c.wants("Endpoints -c000 -c001")
}

func TestRule2OneTableInFlightThenTheNewest(t *testing.T) {
	w := newWorld(t)
	w.sync(func(e edits) { fill(e, 1) })
	c, _, _, _, _ := load(t, w, 1)
	edit := func(i int) {
		w.turn(func(e edits) {
			e.set(xdstypes.Routes, "t", table("t", []host{{"*", []hostRule{{name: "r", body: fmt.Sprint(i)}}}}, nil))
		})
	}
	edit(0)
	first := c.wants("Routes +t")
	for i := range 10 {
		edit(i + 1)
	}
	last := rule("r")
	eventually(t, "the server has seen the last edit", func() bool {
		return w.offered(xdstypes.Routes, "t",
			last) == bodyHash("10")
	})
	c.nothing()
	c.ack(first)
	m := c.wants("Routes +t")
	var rc routev3.RouteConfiguration
	if err := m.Resources[0].Resource.UnmarshalTo(&rc); err != nil {
		t.Fatal(err)
	}
	if got := rc.VirtualHosts[0].Routes[0].GetDirectResponse().GetBody().GetInlineString(); got != "10" {
		t.Errorf("body %q, not the newest", got)
	}
	c.ack(m)
	eventually(t, "the newest is acknowledged", func() bool {
		return w.acked(xdstypes.Routes, "t",
			last) == bodyHash("10")
	})
	c.nothing()
}

func bodyHash(body string) uint64 {
	return hashOf(mustMarshal(hostRule{name: "r", body: body}.route()))
}

// offered is the hash of a fragment in what the server offers.
func (w *world) offered(t resource.Type, name string, origin resource.Origin) uint64 {
	w.server.mu.Lock()
	f := w.server.sets[gateway]
	w.server.mu.Unlock()
	if f == nil {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.lookup(resource.Name{Type: t, Name: name})
	if e == nil {
		return 0
	}
	for _, p := range e.offer.parts() {
		for _, fr := range p.Fragments {
			if fr.Origin == origin {
				return fr.Hash
			}
		}
	}
	return 0
}

func TestRule5EveryNameIsAnswered(t *testing.T) {
	w := newWorld(t)
	w.sync(nil)
	c := dial(t, w)
	c.ask(xdstypes.Cluster, nil)
	c.wants("Cluster")
	c.ask(xdstypes.Listener, nil)
	c.wants("Listener")
	c.ask(xdstypes.Endpoints, nil, "e")
	if m := c.wants("Endpoints +e"); m.Resources[0].Version == "" {
		t.Error("no version")
	}
	c.ask(xdstypes.Routes, nil, "t")
	var rc routev3.RouteConfiguration
	if err := c.wants("Routes +t").Resources[0].Resource.UnmarshalTo(&rc); err != nil || rc.Name != "t" ||
		len(rc.VirtualHosts) > 0 {
		t.Errorf("not a table of 404: %v, %v", &rc, err)
	}
	c.ask(xdstypes.Secret, nil, "s")
	c.wants("Secret -s")
	w.turn(func(e edits) { e.set(xdstypes.Routes, "t", toCluster("t", "a")) })
	c.wants("Routes +t")
}

func TestRule5NothingIsAnsweredBeforeTheFirstWholeTurn(t *testing.T) {
	w := newWorld(t)
	c := dial(t, w)
	c.ask(xdstypes.Cluster, map[string]string{"a": "1"})
	c.ask(xdstypes.Listener, map[string]string{"l": "1"})
	w.turn(func(e edits) { e.set(xdstypes.Cluster, "a", cluster(edsCluster("a"))) })
	eventually(t, "the request is there", func() bool { return w.asked.Load() == 1 })
	for range 50 { // a wrong answer has time enough to overtake these
		s, err := discoveryv3.NewAggregatedDiscoveryServiceClient(c.conn).StreamAggregatedResources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = s.Recv()
	}
	w.sync(func(e edits) { fill(e, 1) })
	// An early answer would have removed the listener, or named fewer clusters.
	c.wants("Cluster +a +c000")
	c.wants("Listener +l")
}

func TestRule6NackedListenersAreNamedAndTheRestIsSentAgain(t *testing.T) {
	w := newWorld(t)
	w.sync(func(e edits) {
		for i, n := range []string{"l1", "l2", "l3"} {
			e.set(xdstypes.Listener, n, listener(n, i+1, "t"))
		}
	})
	c := dial(t, w)
	c.ask(xdstypes.Cluster, nil)
	c.ack(c.wants("Cluster"))
	c.ask(xdstypes.Listener, nil)
	const said = "Error adding/updating listener(s) l2: cannot bind '127.0.0.1:2': Address already in use"
	c.nack(c.wants("Listener +l1 +l2 +l3"), said)
	c.ack(c.wants("Listener +l1 +l3"))
	eventually(t, "the refusal is told", func() bool { return w.refusals()["l2"].Message == said })
	if got := w.refusals(); len(got) != 1 {
		t.Errorf("refused: %v", got)
	}
	c.nothing()
	w.pass(firstTry)
	c.ack(c.wants("Listener +l2"))
	eventually(t, "the refusal is over", func() bool { return len(w.refusals()) == 0 })
}

func TestStateOfTheWorldIsRefused(t *testing.T) {
	w := newWorld(t)
	w.sync(nil)
	c := dial(t, w)
	s, err := discoveryv3.NewAggregatedDiscoveryServiceClient(c.conn).StreamAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "DELTA_GRPC") {
		t.Errorf("got %v", err)
	}
}

func TestMetrics(t *testing.T) {
	w := newWorld(t)
	w.sync(func(e edits) { fill(e, 3) })
	load(t, w, 3)
	eventually(t, "acknowledged", func() bool { return w.proxies().Acknowledged == 1 })
	got := w.metrics()
	for k, want := range map[string]float64{
		"cardea_xds_streams": 1, "cardea_xds_resources_total/Cluster": 3, "cardea_xds_acks_total/Routes": 1,
		"cardea_xds_responses_total/Listener": 1,
	} {
		if got[k] != want {
			t.Errorf("%s = %v, want %v; have %v", k, got[k], want, slices.Sorted(maps.Keys(got)))
		}
	}
}

// TestTimeFromTheEdit: what an edit takes is counted from when it was queued, so that its turn is part of it, and what
// that waits for.
func TestTimeFromTheEdit(t *testing.T) {
	w := newWorld(t)
	w.sync(func(e edits) { fill(e, 3) })
	c, _, _, _, _ := load(t, w, 3)
	eventually(t, "acknowledged", func() bool { return w.proxies().Acknowledged == 1 })
	w.graph.View(func(flow.View) { // turns wait for it
		w.turn(func(e edits) {
			e.set(xdstypes.Routes, "t", table("t", []host{{"new.test", []hostRule{{name: "c000", cluster: "c000"}}}}, nil))
		})
		w.passed.Add(int64(time.Hour))
	})
	c.ack(c.wants("Routes +t"))
	eventually(t, "an hour is told",
		func() bool { return w.metrics()["cardea_xds_edit_to_ack_seconds/Routes"] >= time.Hour.Seconds() })
}
