package xds

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

var other = model.Ref(model.KindGateway, "test", "other")

// twoGateways is a world in which a proxy serves the Gateway that its node's cluster names. Each has a table.
func twoGateways(t *testing.T) *world {
	w := newWorld(t)
	w.server.cfg.Identify = func(context.Context) (GatewayResolver, error) {
		w.opened.Add(1)
		return func(n Node) (model.ObjectRef, error) { return model.Ref(model.KindGateway, "test", n.Cluster), nil }, nil
	}
	w.server.cfg.Log = slog.New(slog.DiscardHandler)
	w.sync(func(e edits) {
		e.set(xdstypes.Cluster, "a", cluster(edsCluster("a")))
		e.setOf(other, xdstypes.Cluster, "b", cluster(edsCluster("b")))
	})
	return w
}

func (e edits) setOf(gateway model.ObjectRef, t resource.Type, name string, r resource.Resource) {
	e.w.sources[t].Set(e.b, resource.Key{Gateway: gateway, Type: t, Name: name}, r)
}

// join connects a proxy of a Gateway.
func (w *world) dialAs(gateway model.ObjectRef) *client {
	c := dial(w.t, w)
	c.node = &corev3.Node{Id: "proxy", Cluster: gateway.Name()}
	return c
}

// served checks that a proxy of the other Gateway joins, and gets an edit.
func (w *world) served(body string) {
	w.t.Helper()
	c := w.dialAs(other)
	c.ask(xdstypes.Cluster, nil)
	c.ack(c.wants("Cluster +b"))
	c.ask(xdstypes.Routes, nil, body)
	c.wants("Routes +" + body)
	w.turn(func(e edits) {
		e.setOf(other, xdstypes.Routes, body, table(body, []host{{"*", []hostRule{{name: "r", body: body}}}}, nil))
	})
	c.wants("Routes +" + body)
	c.conn.Close()
}

// TestALockHoldsNoOtherGateway: while a Gateway's proxies wait for each other, those of another one are served.
func TestALockHoldsNoOtherGateway(t *testing.T) {
	w := twoGateways(t)
	c := w.dialAs(gateway)
	c.ask(xdstypes.Cluster, nil)
	c.ack(c.wants("Cluster +a"))
	w.server.mu.Lock()
	s := w.server.sets[gateway]
	w.server.mu.Unlock()
	before := w.opened.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	for range 3 {
		w.dialAs(gateway).ask(xdstypes.Cluster, nil)
	}
	eventually(t, "they are here", func() bool { return w.opened.Load() == before+3 })
	for i := range 5 {
		w.served(fmt.Sprint("t", i))
	}
}

// flood opens streams of a Gateway's proxies, as many on a connection as it may have, each with its node's id, and
// tells how many the server took.
func (w *world) flood(gateway model.ObjectRef, streams int, id func(i int) string) (taken int) {
	w.t.Helper()
	var conn *grpc.ClientConn
	for i := range streams {
		if i%streamsPerConnection == 0 {
			c, err := grpc.NewClient("unix:"+w.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				w.t.Fatal(err)
			}
			w.t.Cleanup(func() { c.Close() })
			conn = c
		}
		s, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		_ = s.Send(&discoveryv3.DeltaDiscoveryRequest{
			Node: &corev3.Node{Id: id(i), Cluster: gateway.Name()}, TypeUrl: xdstypes.URL(xdstypes.Cluster),
		})
		switch _, err := s.Recv(); {
		case err == nil:
			taken++
		case status.Code(err) != codes.ResourceExhausted:
			w.t.Fatal(err)
		}
	}
	return taken
}

// TestStreamsOfAGateway: who has a Gateway's credentials can't open streams without end, and takes nothing from others.
func TestStreamsOfAGateway(t *testing.T) {
	w := twoGateways(t)
	if n := w.flood(gateway, 2000, strconv.Itoa); n != DefaultStreams {
		t.Errorf("%d streams, want %d", n, DefaultStreams)
	}
	w.served("t")
	if m := w.metrics(); m["cardea_xds_limited_total"] != 2000-DefaultStreams {
		t.Errorf("%v were refused", m["cardea_xds_limited_total"])
	}
}

// TestStreamsOfANode: one proxy leaves room for the others of its Gateway.
func TestStreamsOfANode(t *testing.T) {
	w := twoGateways(t)
	if n := w.flood(gateway, 100, func(int) string { return "one" }); n != streamsPerNode {
		t.Errorf("%d streams of a node, want %d", n, streamsPerNode)
	}
	if n := w.flood(gateway, 1, func(int) string { return "another" }); n != 1 {
		t.Error("another node is refused")
	}
}

// TestSubscriptionsAreLimited: in number, in length, and in bytes.
func TestSubscriptionsAreLimited(t *testing.T) {
	names := func(n int, name func(int) string) (list []string) {
		for i := range n {
			list = append(list, name(i))
		}
		return list
	}
	url := xdstypes.URL(xdstypes.Endpoints)
	half := names(DefaultNames/2+1, func(i int) string { return fmt.Sprint("b", i) })
	brought := map[string]string{}
	for i := range DefaultNames + 1 {
		brought[strconv.Itoa(i)] = "1"
	}
	for name, requests := range map[string][]*discoveryv3.DeltaDiscoveryRequest{
		"many": {{TypeUrl: url, ResourceNamesSubscribe: names(DefaultNames+1, strconv.Itoa)}},
		"many in two": {
			{TypeUrl: url, ResourceNamesSubscribe: names(DefaultNames/2, strconv.Itoa)},
			{TypeUrl: url, ResourceNamesSubscribe: half},
		},
		"many that it has": {{TypeUrl: xdstypes.URL(xdstypes.Cluster), InitialResourceVersions: brought}},
		"many of no type":  {{TypeUrl: "x", ResourceNamesSubscribe: names(DefaultNames+1, strconv.Itoa)}},
		"a long one":       {{TypeUrl: url, ResourceNamesSubscribe: []string{strings.Repeat("x", nameBytes+1)}}},
		"a long one it has": {
			{TypeUrl: url, InitialResourceVersions: map[string]string{strings.Repeat("x", nameBytes+1): "1"}},
		},
		"more than it may say": {{TypeUrl: strings.Repeat("x", requestBytes)}},
	} {
		t.Run(name, func(t *testing.T) {
			w := twoGateways(t)
			c := w.dialAs(gateway)
			for _, r := range requests {
				c.send(r)
			}
			if err := <-c.end; status.Code(err) != codes.ResourceExhausted {
				t.Errorf("got %v", err)
			}
			w.served("t")
		})
	}
}

// serveWith serves a world's proxies at another socket, too, by other rules for connections.
func (w *world) serveWith(c connectionLimits) {
	w.socket += "2"
	l, err := net.Listen("unix", w.socket)
	if err != nil {
		w.t.Fatal(err)
	}
	rpc := grpc.NewServer(append(c.serverOptions(), grpc.WaitForHandlers(true))...)
	w.server.Register(rpc)
	go func() { _ = rpc.Serve(l) }()
	w.t.Cleanup(rpc.Stop)
}

// TestASilentConnectionEnds: it takes no file descriptor for long.
func TestASilentConnectionEnds(t *testing.T) {
	w := newWorld(t)
	w.serveWith(connectionLimits{handshake: time.Millisecond, idle: time.Hour})
	c, err := net.Dial("unix", w.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.Copy(io.Discard, c) // up to its end
}

// TestAnIdleConnectionEnds: one that has begun and asks for nothing.
func TestAnIdleConnectionEnds(t *testing.T) {
	w := newWorld(t)
	w.sync(nil)
	w.serveWith(connectionLimits{handshake: handshakeTimeout, idle: time.Millisecond})
	c := dial(t, w)
	c.ask(xdstypes.Cluster, nil)
	c.ack(c.wants("Cluster"))
	if err := c.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for state := c.conn.GetState(); state == connectivity.Ready; state = c.conn.GetState() {
		if !c.conn.WaitForStateChange(t.Context(), state) {
			t.Fatal("the connection does not end")
		}
	}
}
