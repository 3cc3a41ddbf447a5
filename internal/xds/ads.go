package xds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// GRPCOptions are what a gRPC server needs to serve proxies: a proxy that reconnects names all its resources in one
// request, and one that is gone without a word is noticed.
func GRPCOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(256 << 20),
		grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.InitialWindowSize(4 << 20),
		grpc.InitialConnWindowSize(4 << 20),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
}

// Register adds the aggregated discovery service.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(r, &ads{server: s})
}

type ads struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	server *Server
}

// StreamAggregatedResources refuses the state-of-the-world variant.
func (*ads) StreamAggregatedResources(discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return status.Error(codes.Unimplemented, "only the delta variant of ADS is served: set api_type DELTA_GRPC")
}

// DeltaAggregatedResources serves one proxy.
func (a *ads) DeltaAggregatedResources(g discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) (err error) {
	s := a.server
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Log.Error("panic in a proxy's stream", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = status.Error(codes.Internal, "the stream failed")
		}
	}()
	first, err := g.Recv()
	if err != nil {
		return ended(err)
	}
	ctx := g.Context()
	gateway, err := s.cfg.Identify(ctx, first.GetNode())
	if err != nil {
		return s.turnAway(first.GetNode().GetId(), err)
	}
	select {
	case <-s.loaded:
	case <-ctx.Done():
		return nil
	}
	awake := make(chan struct{}, 1)
	f, st := s.join(gateway, proxyVersion(first.GetNode()), func() {
		select {
		case awake <- struct{}{}:
		default:
		}
	})
	defer s.leave(f, st)
	return s.serve(g, f, st, first, awake)
}

// serve runs the core whenever the proxy says something, the set changed, or time has come.
func (s *Server) serve(
	g discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer,
	f *fleet, st *stream, req *discoveryv3.DeltaDiscoveryRequest, awake <-chan struct{},
) error {
	requests, failed := make(chan *discoveryv3.DeltaDiscoveryRequest), make(chan error, 1)
	go receive(g, requests, failed)
	alarm := time.NewTimer(math.MaxInt64)
	defer alarm.Stop()
	for {
		out, wait := s.step(f, st, req)
		for _, r := range out {
			m, err := encode(r)
			if err != nil {
				return status.Error(codes.Internal, err.Error())
			}
			if err := g.Send(m); err != nil {
				return ended(err)
			}
			s.metrics.sent(r)
		}
		alarm.Stop()
		if !wait.IsZero() {
			alarm.Reset(wait.Sub(s.cfg.Now()))
		}
		req = nil
		select {
		case req = <-requests:
		case <-awake:
		case <-alarm.C:
		case err := <-failed:
			return ended(err)
		case <-g.Context().Done():
			return nil
		}
	}
}

// receive hands on what the proxy says, until its stream ends.
func receive(
	g discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer,
	requests chan<- *discoveryv3.DeltaDiscoveryRequest, failed chan<- error,
) {
	for {
		req, err := g.Recv()
		if err != nil {
			failed <- err
			return
		}
		select {
		case requests <- req:
		case <-g.Context().Done():
			return
		}
	}
}

// ended turns the end of a stream into what gRPC should say of it.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) || status.Code(err) == codes.Canceled {
		return nil
	}
	return err
}
