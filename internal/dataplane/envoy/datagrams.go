package envoy

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/cespare/xxhash/v2"
	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	udpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/udp/udp_proxy/v3"
	networkinputsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/matching/common_inputs/network/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// A UDP listener sends its sessions to one cluster for ever, since any edit of the listener ends all of them. A route's
// backends are groups of endpoints of this cluster, each with the backend's weight. Without a route it has no
// endpoints, and datagrams are dropped.

// The fields of ClusterLoadAssignment.
const (
	assignmentName      = 1
	assignmentEndpoints = 2
)

// droppingEndpoint takes the share of backends that can't be used: the discard port (RFC 863) of the proxy's own
// machine. Hardly ever does a program listen there, and one that does drops what arrives.
var droppingEndpoint = model.Endpoint{Address: "127.0.0.1", Port: 9}

// newDatagrams adds the stages for UDP listeners: their clusters and the endpoints of these.
func (s *stages) newDatagrams(p plan.Plan) (clusters *flow.Collection[resource.Key, resource.Resource]) {
	listeners := flow.Map(p.Ports, "envoy/datagram-listeners",
		func(_ *flow.Ctx, _ model.PortKey, port model.Port) (model.ListenerKey, bool) {
			listener, found := servingListener(port)
			return listener, found && naming.CanServe(port.DataPlane, port.Protocol, port.Key.Transport) &&
				port.Protocol.Carries("") == model.Datagrams
		})
	named := func(t resource.Type, name string) *flow.Collection[resource.Key,
		flow.Members[model.PortKey, model.ListenerKey]] {
		return flow.Group(listeners, name, func(p model.PortKey, k model.ListenerKey) []resource.Key {
			return []resource.Key{{Gateway: p.Gateway, Type: t, Name: naming.DatagramCluster(p.Gateway, k)}}
		}, flow.ByKey)
	}
	clusters = flow.Map(named(xdstypes.Cluster, "envoy/datagram-clusters-by-name"), "envoy/datagram-clusters",
		func(_ *flow.Ctx, key resource.Key, of flow.Members[model.PortKey, model.ListenerKey]) (resource.Resource, bool) {
			_, listener := of.At(0)
			part := message.NewPart("", message.MustMarshal(datagramCluster(key.Name)))
			part.Fragments = []resource.Fragment{{Origin: naming.ListenerOrigin(listener), Hash: part.Hash}}
			part.Needs = []resource.Name{{Type: xdstypes.Endpoints, Name: key.Name}}
			return resource.JoinParts(part), true
		})
	s.datagramEndpoints = flow.Map(named(xdstypes.Endpoints, "envoy/datagram-endpoints-by-name"),
		"envoy/datagram-endpoints",
		func(c *flow.Ctx, key resource.Key, of flow.Members[model.PortKey, model.ListenerKey]) (resource.Resource, bool) {
			_, listener := of.At(0)
			domain := model.DomainKey{Listener: listener, Name: model.EveryHost}
			if entries, found := flow.Fetch(c, p.Domains, domain); found {
				first, _ := entries.At(0) // it alone gets sessions
				if rule, found := s.findOpenRule(c, first.Rule); found {
					return resource.JoinParts(datagramParts(c, p, key, rule)...), true
				}
			}
			return resource.JoinParts(message.NewPart("", message.EncodeField(assignmentName, []byte(key.Name)))), true
		})
	return clusters
}

// servingListener is the first listener of a port that serves: of TCP or UDP no two do.
func servingListener(port model.Port) (model.ListenerKey, bool) {
	for _, l := range port.Listeners {
		if l.Serves {
			return l.Key, true
		}
	}
	return model.ListenerKey{}, false
}

// datagramCluster has the endpoints of all backends of a route.
func datagramCluster(name string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig:     &clusterv3.Cluster_EdsClusterConfig{EdsConfig: message.ADSConfigSource()},
		CircuitBreakers:      unlimitedCircuitBreakers(),
		CommonLbConfig: &clusterv3.Cluster_CommonLbConfig{
			LocalityConfigSpecifier: &clusterv3.Cluster_CommonLbConfig_LocalityWeightedLbConfig_{
				LocalityWeightedLbConfig: &clusterv3.Cluster_CommonLbConfig_LocalityWeightedLbConfig{},
			},
		},
	}
}

// datagramParts are an assignment with a part for each backend that gets some of the sessions. The first one tells of
// the rule.
func datagramParts(c *flow.Ctx, p plan.Plan, key resource.Key, rule model.Rule) []*resource.Part {
	head := message.NewPart("", message.EncodeField(assignmentName, []byte(key.Name)))
	parts := []*resource.Part{head}
	dropped := uint32(0)
	for _, share := range connectionShares(rule, model.Datagrams) {
		of := plan.BackendKey{Gateway: key.Gateway, Backend: share.backend}
		backend, _ := flow.Fetch(c, p.Backends, of)
		closed := fetchOptional(c, p.Settings.Backends, of).Closed
		if share.cluster == naming.InvalidCluster || closed || len(backend.Endpoints) == 0 {
			dropped += share.weight
			continue
		}
		part := datagramPart(share.cluster, share.weight, backend.Endpoints)
		part.Fragments = []resource.Fragment{naming.BackendFragment(share.backend, part.Hash)}
		parts = append(parts, part)
	}
	if dropped > 0 || len(parts) == 1 {
		parts = append(parts, datagramPart(naming.InvalidCluster, max(dropped, 1), []model.Endpoint{droppingEndpoint}))
	}
	sortParts(parts)
	head.Fragments = []resource.Fragment{{Origin: naming.RuleOrigin(rule.Key), Hash: hashParts(parts)}}
	return parts
}

// datagramPart is the endpoints of a backend, and their share of the sessions.
func datagramPart(name string, weight uint32, list []model.Endpoint) *resource.Part {
	group := &endpointv3.LocalityLbEndpoints{
		Locality: &corev3.Locality{SubZone: name}, LoadBalancingWeight: wrapperspb.UInt32(weight),
	}
	for _, e := range list {
		group.LbEndpoints = append(group.LbEndpoints, &endpointv3.LbEndpoint{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
				Address: message.SocketAddress(e.Address, e.Port),
			}},
		})
	}
	return message.NewPart(name, message.EncodeField(assignmentEndpoints, message.MustMarshal(group)))
}

// addDatagrams makes a Listener one of UDP. One that is closed drops what it gets: there is no such cluster.
func addDatagrams(l *listenerv3.Listener, port model.Port, stated listenerFields) (needs []resource.Name) {
	cluster := naming.InvalidCluster
	if listener, found := servingListener(port); found && !stated.Closed {
		cluster = naming.DatagramCluster(port.Key.Gateway, listener)
		needs = []resource.Name{{Type: xdstypes.Cluster, Name: cluster}}
	}
	socket := l.GetAddress().GetSocketAddress()
	socket.Protocol = corev3.SocketAddress_UDP
	// Each of the proxy's threads has a socket of its own.
	l.EnableReusePort = wrapperspb.Bool(true)
	l.PerConnectionBufferLimitBytes, l.TcpKeepalive = nil, nil
	l.UdpListenerConfig = &listenerv3.UdpListenerConfig{DownstreamSocketConfig: &corev3.UdpSocketConfig{}}
	proxy := &udpproxyv3.UdpProxyConfig{
		StatPrefix:  strconv.Itoa(int(port.Key.Number)),
		IdleTimeout: durationpb.New(message.SessionIdleTimeout),
		RouteSpecifier: &udpproxyv3.UdpProxyConfig_Matcher{
			Matcher: sessionMatcher(stated.chain.Access.rangesFor(""), cluster),
		},
	}
	overlayFields(proxy, new(udpproxyv3.UdpProxyConfig), stated.chain.Sessions)
	l.ListenerFilters = []*listenerv3.ListenerFilter{{
		Name: "udp", ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: message.MustAny(proxy)},
	}}
	return needs
}

// sessionMatcher sends the sessions of clients that are taken to a cluster, and drops those of the others.
func sessionMatcher(from sourceRanges, cluster string) *xdsmatcherv3.Matcher {
	to := func(takes bool) *xdsmatcherv3.Matcher_OnMatch {
		route := &udpproxyv3.Route{Cluster: naming.InvalidCluster}
		if takes {
			route.Cluster = cluster
		}
		return &xdsmatcherv3.Matcher_OnMatch{OnMatch: &xdsmatcherv3.Matcher_OnMatch_Action{
			Action: &xdscorev3.TypedExtensionConfig{Name: "route", TypedConfig: message.MustAny(route)},
		}}
	}
	m := &xdsmatcherv3.Matcher{OnNoMatch: to(from.Others)}
	ranges := &xdsmatcherv3.IPMatcher{}
	for i, list := range [][]netip.Prefix{from.Taken, from.Refused} {
		if len(list) == 0 {
			continue
		}
		own := &xdsmatcherv3.IPMatcher_IPRangeMatcher{OnMatch: to(i == 0)}
		for _, r := range list {
			own.Ranges = append(own.Ranges, &xdscorev3.CidrRange{
				AddressPrefix: r.Addr().String(), PrefixLen: wrapperspb.UInt32(uint32(r.Bits())),
			})
		}
		ranges.RangeMatchers = append(ranges.RangeMatchers, own)
	}
	if len(ranges.RangeMatchers) == 0 {
		return m
	}
	m.MatcherType = &xdsmatcherv3.Matcher_MatcherTree_{MatcherTree: &xdsmatcherv3.Matcher_MatcherTree{
		Input: &xdscorev3.TypedExtensionConfig{
			Name: "source", TypedConfig: message.MustAny(&networkinputsv3.SourceIPInput{}),
		},
		TreeType: &xdsmatcherv3.Matcher_MatcherTree_CustomMatch{CustomMatch: &xdscorev3.TypedExtensionConfig{
			Name: "ranges", TypedConfig: message.MustAny(ranges),
		}},
	}}
	return m
}

// hashParts is a hash of the content of parts.
func hashParts(parts []*resource.Part) uint64 {
	h := xxhash.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(h, "%x ", p.Hash)
	}
	return h.Sum64()
}
