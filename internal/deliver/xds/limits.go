package xds

import (
	"cmp"
	"fmt"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cardea.dev/cardea/internal/core/model"
)

// Limits bound what the server holds for the proxies of one Gateway. A limit of 0 is the default.
type Limits struct {
	Streams int // of all its proxies
	Names   int // of resources of one type, to which one proxy subscribes, or which it has when it connects
}

// The limits by default. Envoys with 10,000 hosts name some 10,000 clusters.
const (
	DefaultStreams = 1000
	DefaultNames   = 100_000
)

// A proxy has one stream, and for a while those that it lost without a word. Its names of resources are those that it
// was told: no dialect makes longer ones.
const (
	streamsPerNode = 16
	nameBytes      = 2 << 10
)

func (l Limits) withDefaults() Limits {
	return Limits{Streams: cmp.Or(l.Streams, DefaultStreams), Names: cmp.Or(l.Names, DefaultNames)}
}

// checkStreams tells whether a Gateway may have one more stream of this node. The set's lock is held.
func (l Limits) checkStreams(s *gatewaySet, id string) error {
	ofNode := 0
	for st := range s.streams {
		if st.id == id {
			ofNode++
		}
	}
	switch {
	case len(s.streams) >= l.Streams:
		return status.Errorf(codes.ResourceExhausted, "the proxies of %s have %d streams, which is the limit", s.gateway,
			len(s.streams))
	case ofNode >= streamsPerNode:
		return status.Errorf(codes.ResourceExhausted, "the proxy has %d streams, which is the limit", ofNode)
	}
	return nil
}

// checkRequest tells whether a stream may ask for what is in a request. The set's lock is held.
func (l Limits) checkRequest(st *stream, req *discoveryv3.DeltaDiscoveryRequest) error {
	names, brought := req.GetResourceNamesSubscribe(), req.GetInitialResourceVersions()
	n := max(len(names), len(brought))
	if t := st.set.specOfURL(req.GetTypeUrl()); t != nil && n > 0 {
		n += len(st.subs[t.Type].absent) + st.subs[t.Type].asked.count()
	}
	if n > l.Names {
		return status.Errorf(codes.ResourceExhausted, "the proxy asks for %d resources of type %s; the limit is %d", n,
			req.GetTypeUrl(), l.Names)
	}
	tooLong := func(name string) error {
		return status.Errorf(codes.ResourceExhausted, "a name of a resource has %d bytes; the limit is %d", len(name),
			nameBytes)
	}
	for _, name := range names {
		if len(name) > nameBytes {
			return tooLong(name)
		}
	}
	for name := range brought {
		if len(name) > nameBytes {
			return tooLong(name)
		}
	}
	return nil
}

// reportLimit counts and logs a stream that ends since a limit is reached. It is the stream's end.
func (s *Server) reportLimit(gateway model.ObjectRef, node string, err error) error {
	s.metrics.limited.Inc()
	if s.rejectedLog.isNew("limit\x00"+gateway.String(), s.cfg.Now()) {
		s.cfg.Log.Warn("stream of a proxy ended: limit reached", "gateway", gateway.String(),
			"node", fmt.Sprintf("%.*s", maxLoggedName, node), "error", status.Convert(err).Message())
	}
	return err
}
