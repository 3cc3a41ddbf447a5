package simulate

import (
	"cmp"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	udpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/udp/udp_proxy/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/core/request"
)

// SimulateConnection tells what would happen to a connection.
func (c *Config) SimulateConnection(n request.Connection) Result {
	s := newSimulation(c, request.Request{Address: n.Address, Port: n.Port, TLS: n.TLS, SNI: n.SNI})
	s.datagrams, s.client = n.Datagrams, n.Client.Unmap()
	l := s.findListener()
	switch {
	case l == nil:
	case s.datagrams:
		s.shareDatagrams(l)
	default:
		if chain := s.findFilterChain(l); chain != nil {
			s.shareConnections(chain)
		}
	}
	s.settleSource()
	return s.result
}

// tcpProxyKind is the filter that shares connections.
const tcpProxyKind = "TcpProxy"

// sharesConnections tells whether a filter of a chain shares connections among clusters.
func sharesConnections(f *listenerv3.Filter) bool {
	types := append(f.GetConfigDiscovery().GetTypeUrls(), f.GetTypedConfig().GetTypeUrl())
	for _, url := range types {
		if url != "" && shortType(url) == tcpProxyKind {
			return true
		}
	}
	return false
}

// shareConnections follows a connection through the filters of its chain.
func (s *simulation) shareConnections(chain *listenerv3.FilterChain) {
	for _, f := range chain.GetFilters() {
		switch kind := shortType(f.GetTypedConfig().GetTypeUrl()); {
		case sharesConnections(f):
			s.result.SharedBy = f.GetName()
			if proxy, found := s.findTCPProxy(f); found {
				s.shareAmongClusters(proxy)
			}
			return
		case f.GetTypedConfig().MessageIs(new(hcmv3.HttpConnectionManager)):
			s.result.Mismatch = true
			return
		case kind == "ConnectionLimit": // a connection is looked at by itself: there are no others
		default:
			s.noteNotSimulated(f.GetName())
		}
	}
	s.result.Undecided = true
}

// findTCPProxy is the configuration of a filter that shares connections, which may be a resource of its own; false if
// the connection ends or nothing more can be said.
func (s *simulation) findTCPProxy(f *listenerv3.Filter) (*tcpproxyv3.TcpProxy, bool) {
	config, own := f.GetTypedConfig(), new(corev3.TypedExtensionConfig)
	if f.GetConfigDiscovery() != nil {
		b, found := s.config.extensions[f.GetName()]
		if !found {
			s.result.Closed = "the configuration of its filter is not there"
			return nil, false
		}
		if err := proto.Unmarshal(b, own); err != nil {
			s.setUndecided(f.GetName())
			return nil, false
		}
		config = own.GetTypedConfig()
	}
	proxy := new(tcpproxyv3.TcpProxy)
	if err := config.UnmarshalTo(proxy); err != nil {
		s.setUndecided(f.GetName())
		return nil, false
	}
	s.noteUnknownFields(proxy, "stat_prefix", "cluster", "weighted_clusters", "idle_timeout", "access_log",
		"upstream_connect_mode", "max_early_data_bytes")
	return proxy, true
}

// shareAmongClusters shares connections by weight.
func (s *simulation) shareAmongClusters(proxy *tcpproxyv3.TcpProxy) {
	list := proxy.GetWeightedClusters().GetClusters()
	if list == nil {
		list = []*tcpproxyv3.TcpProxy_WeightedCluster_ClusterWeight{{Name: proxy.GetCluster(), Weight: 1}}
	}
	total := 0.0
	for _, c := range list {
		s.noteUnknownFields(c, "name", "weight")
		total += float64(c.GetWeight())
	}
	for _, c := range list {
		o := Outcome{Cluster: c.GetName(), Effect: request.Effect{Share: float64(c.GetWeight()) / total}}
		found := s.resolveEndpoints(&o)
		limit := defaultLimits(s.config.clusters[o.Cluster]).GetMaxConnections()
		o.Status = 0 // which requests get
		switch {
		case !found:
			o.Closed = "there is no such backend"
		case limit != nil && limit.GetValue() == 0:
			o.Endpoints, o.Closed = nil, "its backend may have no connection"
		case len(o.Endpoints) == 0:
			o.Closed = "its backend has no endpoint"
		}
		s.result.Outcomes = append(s.result.Outcomes, o)
	}
}

// shareDatagrams shares sessions among the localities of the one cluster that a UDP listener names.
func (s *simulation) shareDatagrams(l *listenerv3.Listener) {
	s.noteUnknownFields(l, "name", "address", "stat_prefix", "listener_filters", "enable_reuse_port",
		"udp_listener_config", "access_log", "traffic_direction")
	proxy := new(udpproxyv3.UdpProxyConfig)
	for _, f := range l.GetListenerFilters() {
		if f.GetTypedConfig().UnmarshalTo(proxy) != nil {
			s.noteNotSimulated(f.GetName())
		}
	}
	s.noteUnknownFields(proxy, "stat_prefix", "idle_timeout", "matcher", "access_log")
	route, refusal := s.datagramRoute(proxy.GetMatcher())
	if route == nil {
		return
	}
	s.result.SharedBy = route.GetCluster()
	c, found := s.config.clusters[route.GetCluster()]
	if !found {
		s.result.Closed = cmp.Or(refusal, "the listener has no backends")
		return
	}
	s.noteUnknownFields(c, "name", "type", "eds_cluster_config", "circuit_breakers", "common_lb_config")
	s.noteUnknownFields(c.GetCommonLbConfig(), "locality_weighted_lb_config")
	var outcomes []Outcome
	total := 0.0
	for _, group := range s.config.endpoints[c.GetName()].GetEndpoints() {
		s.noteUnknownFields(group, "locality", "load_balancing_weight", "lb_endpoints")
		endpoints := s.healthyEndpoints(&endpointv3.ClusterLoadAssignment{
			Endpoints: []*endpointv3.LocalityLbEndpoints{group},
		})
		weight := float64(group.GetLoadBalancingWeight().GetValue())
		if len(endpoints) == 0 || weight == 0 { // Envoy leaves such a locality out
			continue
		}
		total += weight
		outcomes = append(outcomes, Outcome{
			Locality: group.GetLocality().GetSubZone(), Effect: request.Effect{Share: weight, Endpoints: endpoints},
		})
	}
	if len(outcomes) == 0 {
		s.result.Closed = "no backend of the listener has an endpoint"
	}
	for _, o := range outcomes {
		o.Share /= total
		s.result.Outcomes = append(s.result.Outcomes, o)
	}
}
