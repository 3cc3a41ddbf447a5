package xds

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// TestAStrangerIsNotRead: who shows nothing is refused before it says a word, so it can't make the server read any.
func TestAStrangerIsNotRead(t *testing.T) {
	w := newWorld(t)
	w.sync(nil)
	w.server.cfg.Identify = func(context.Context) (GatewayResolver, error) { return nil, errors.New("no token") }
	w.server.cfg.Log = slog.New(slog.DiscardHandler)
	c := dial(t, w)
	if err := <-c.end; status.Code(err) != codes.PermissionDenied || status.Convert(err).Message() != "no token" {
		t.Errorf("got %v", err)
	}
}

// TestAnotherGatewaysProxyIsRefused: whose a proxy is, is one thing; what it asks for, another.
func TestAnotherGatewaysProxyIsRefused(t *testing.T) {
	w := newWorld(t)
	w.sync(nil)
	w.server.cfg.Identify = func(context.Context) (GatewayResolver, error) {
		return func(Node) (model.ObjectRef, error) { return model.ObjectRef{}, errors.New("no such gateway") }, nil
	}
	w.server.cfg.Log = slog.New(slog.DiscardHandler)
	c := dial(t, w)
	c.ask(xdstypes.Cluster, nil)
	if err := <-c.end; status.Code(err) != codes.PermissionDenied || status.Convert(err).Message() != "no such gateway" {
		t.Errorf("got %v", err)
	}
}

// TestSilenceEnds: a proxy that says nothing is not waited for for ever.
func TestSilenceEnds(t *testing.T) {
	w := newWorld(t)
	w.sync(nil)
	w.server.requestTimeout = time.Millisecond
	c := dial(t, w)
	if err := <-c.end; status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
	if n := w.metrics()["cardea_xds_streams"]; n != 0 {
		t.Errorf("%v streams", n)
	}
}

// TestStreamsOfAConnection: a connection has few of them; one more waits until another ends.
func TestStreamsOfAConnection(t *testing.T) {
	w := newWorld(t)
	w.sync(nil)
	c := dial(t, w)
	open := func(ctx context.Context) {
		_, _ = discoveryv3.NewAggregatedDiscoveryServiceClient(c.conn).DeltaAggregatedResources(ctx)
	}
	one, end := context.WithCancel(t.Context())
	defer end()
	open(one)
	for range streamsPerConnection - 2 {
		open(t.Context())
	}
	eventually(t, "all are open", func() bool { return w.opened.Load() == streamsPerConnection })
	more := make(chan struct{})
	go func() { open(t.Context()); close(more) }()
	c.ask(xdstypes.Cluster, nil)
	c.ack(c.wants("Cluster")) // one more that was let in would have come by now
	if n := w.opened.Load(); n != streamsPerConnection {
		t.Errorf("%d streams of one connection", n)
	}
	end()
	<-more
	eventually(t, "the next one is open", func() bool { return w.opened.Load() == streamsPerConnection+1 })
}
