// Package floor is a bare xDS server that sends the bytes that Cardea would send, as soon as it has them. Its times are
// the lower bound for any control plane.
//
// It owns the one stream of the measured proxy. It must never know where the bytes come from, except in All, which
// takes them from a world. Start reading at Server.
package floor

import (
	"fmt"
	"net"
	"strconv"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"

	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// ackTimeout is how long an acknowledgement may take.
const ackTimeout = 2 * time.Minute

// Server answers the first request of each type with all resources, and sends edits after that.
type Server struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	resources map[string][]*discoveryv3.Resource // by type URL
	edits     chan *discoveryv3.Resource         // a route table to send
	acks      chan string                        // nonces
}

// New makes a server of these resources, by type URL.
func New(resources map[string][]*discoveryv3.Resource) *Server {
	return &Server{resources: resources, edits: make(chan *discoveryv3.Resource), acks: make(chan string, 100)}
}

// Listen serves one Envoy at a Unix socket until stop is called.
func (s *Server) Listen(socket string) (stop func(), err error) {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, s)
	go func() { _ = server.Serve(listener) }()
	return server.Stop, nil
}

// Push sends a route table. It returns when the stream of the proxy has taken it.
func (s *Server) Push(table *discoveryv3.Resource) { s.edits <- table }

// Acked returns when the table of this version is acknowledged.
func (s *Server) Acked(version string) error {
	for {
		select {
		case nonce := <-s.acks:
			if nonce == edit(version) {
				return nil
			}
		case <-time.After(ackTimeout):
			return fmt.Errorf("no acknowledgement of edit %s", version)
		}
	}
}

// edit is the nonce of an edit.
func edit(version string) string { return "edit-" + version }

// DeltaAggregatedResources is the proxy's stream.
func (s *Server) DeltaAggregatedResources(
	stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer,
) error {
	requests := make(chan *discoveryv3.DeltaDiscoveryRequest)
	go func() {
		defer close(requests)
		for {
			r, err := stream.Recv()
			if err != nil {
				return
			}
			requests <- r
		}
	}()
	answered := map[string]bool{}
	for n := 1; ; n++ {
		response := &discoveryv3.DeltaDiscoveryResponse{Nonce: strconv.Itoa(n)}
		select {
		case r, open := <-requests:
			if !open {
				return nil
			}
			if r.GetResponseNonce() != "" {
				select {
				case s.acks <- r.GetResponseNonce():
				default:
				}
			}
			if answered[r.GetTypeUrl()] {
				continue
			}
			answered[r.GetTypeUrl()] = true
			response.TypeUrl, response.Resources = r.GetTypeUrl(), s.resources[r.GetTypeUrl()]
		case table := <-s.edits:
			response.Nonce = edit(table.GetVersion())
			response.TypeUrl, response.Resources = xdstypes.URL(xdstypes.Routes), []*discoveryv3.Resource{table}
		}
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}
