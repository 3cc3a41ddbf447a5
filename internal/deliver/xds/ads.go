package xds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// The limits for a client that has not identified itself. A connection needs one stream; the window is opened for a
// long message when it is read, and then the server knows who sent it.
const (
	streamsPerConnection = 16
	headerBytes          = 32 << 10
	windowBytes          = 64 << 10
	requestBytes         = 16 << 20         // all names and versions of a proxy that connects again: 80 bytes each
	firstRequestTimeout  = 10 * time.Second // how long a proxy may take to say what it wants
	handshakeTimeout     = 10 * time.Second // how long a connection may take to begin HTTP/2, TLS included
	idleTimeout          = time.Minute      // how long a connection without a stream is kept
)

// GRPCOptions are what a gRPC server needs to serve proxies: a proxy that reconnects names all its resources in one
// request, and one that is gone without a word is noticed. A connection is ended at the age, so that the client has to
// identify itself again; 0: never.
func GRPCOptions(age time.Duration) []grpc.ServerOption {
	return connectionLimits{age: age, idle: idleTimeout, handshake: handshakeTimeout}.serverOptions()
}

// connectionLimits say when connections end.
type connectionLimits struct{ age, idle, handshake time.Duration }

func (c connectionLimits) serverOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ConnectionTimeout(c.handshake),
		grpc.ForceServerCodecV2(codec{}),
		grpc.MaxConcurrentStreams(streamsPerConnection),
		grpc.MaxHeaderListSize(headerBytes),
		grpc.MaxRecvMsgSize(requestBytes),
		grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.InitialWindowSize(windowBytes),
		grpc.InitialConnWindowSize(streamsPerConnection * windowBytes),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: 30 * time.Second, Timeout: 20 * time.Second, MaxConnectionIdle: c.idle, MaxConnectionAge: c.age,
			MaxConnectionAgeGrace: time.Second,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
}

// Register adds the aggregated discovery service.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(r, &ads{server: s})
}

type deltaStream = discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer

type ads struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	server *Server
}

// StreamAggregatedResources refuses the state-of-the-world variant.
func (*ads) StreamAggregatedResources(discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return status.Error(codes.Unimplemented, "only the delta variant of ADS is served: set api_type DELTA_GRPC")
}

// DeltaAggregatedResources serves one proxy.
func (a *ads) DeltaAggregatedResources(g deltaStream) (err error) {
	s := a.server
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Log.Error("panic in a proxy's stream", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = status.Error(codes.Internal, "the stream failed")
		}
	}()
	ctx := g.Context()
	claim, err := s.cfg.Identify(ctx)
	if err != nil {
		return s.rejectProxy(ctx, "", err)
	}
	words := receiveRequests(g)
	req, err := firstRequest(ctx, words, s.requestTimeout)
	if req == nil {
		return endStatus(err)
	}
	gateway, err := claim(Node{ID: req.GetNode().GetId(), Cluster: req.GetNode().GetCluster()})
	if err != nil {
		return s.rejectProxy(ctx, req.GetNode().GetId(), err)
	}
	select {
	case <-s.loaded:
	case <-ctx.Done():
		return nil
	}
	awake := make(chan struct{}, 1)
	st, err := s.joinProxy(gateway, req.GetNode().GetId(), proxyVersion(req.GetNode()), func() {
		select {
		case awake <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return err
	}
	defer s.removeProxy(st)
	return s.serveStream(g, words, st, req, awake)
}

// serveStream runs the core whenever the proxy says something, the set changed, or time has come.
func (s *Server) serveStream(
	g deltaStream, words <-chan receivedRequest, st *stream, req *discoveryv3.DeltaDiscoveryRequest, awake <-chan struct{},
) error {
	alarm := time.NewTimer(math.MaxInt64)
	defer alarm.Stop()
	for {
		out, wait, err := s.stepStream(st, req)
		if err != nil {
			return err
		}
		for _, r := range out {
			if err := g.SendMsg(s.protocol.encodeResponse(r)); err != nil {
				return endStatus(err)
			}
			s.metrics.recordSent(r)
		}
		alarm.Stop()
		if !wait.IsZero() {
			alarm.Reset(wait.Sub(s.cfg.Now()))
		}
		req = nil
		select {
		case w := <-words:
			if w.err != nil {
				return endStatus(w.err)
			}
			req = w.req
		case <-awake:
		case <-alarm.C:
		case <-g.Context().Done():
			return nil
		}
	}
}

// receivedRequest is a request of the proxy, or the end of its stream.
type receivedRequest struct {
	req *discoveryv3.DeltaDiscoveryRequest
	err error
}

func receiveRequests(g deltaStream) <-chan receivedRequest {
	words := make(chan receivedRequest)
	go func() {
		for {
			req, err := g.Recv()
			select {
			case words <- receivedRequest{req, err}:
			case <-g.Context().Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return words
}

// firstRequest is the first request, nil if none comes in time.
func firstRequest(
	ctx context.Context, words <-chan receivedRequest, timeout time.Duration,
) (*discoveryv3.DeltaDiscoveryRequest, error) {
	select {
	case w := <-words:
		return w.req, w.err
	case <-time.After(timeout):
		return nil, status.Errorf(codes.DeadlineExceeded, "the proxy requested nothing within %v", timeout)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// endStatus turns the end of a stream into what gRPC should say of it.
func endStatus(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) || status.Code(err) == codes.Canceled {
		return nil
	}
	return err
}

// proxyVersion is what a proxy says of itself: "1.40.0", or "" if it does not say.
func proxyVersion(node *corev3.Node) string {
	v := node.GetUserAgentBuildVersion().GetVersion()
	if v == nil {
		return node.GetUserAgentVersion()
	}
	return fmt.Sprintf("%d.%d.%d", v.GetMajorNumber(), v.GetMinorNumber(), v.GetPatch())
}
