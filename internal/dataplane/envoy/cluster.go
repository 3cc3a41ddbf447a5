package envoy

import (
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	dnscommonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/common/dns/v3"
	dnsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/dns/v3"
	caresv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/network/dns_resolver/cares/v3"
	upstreamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
)

// httpOptionsName is where a cluster keeps how it speaks HTTP.
const httpOptionsName = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"

// clusters has a Cluster for each backend that a Gateway uses. If a proxy refused one that a policy has speak TLS, a
// closed one stands in its place: the proxy may still have the one of before, which may send in plain text.
func (s stages) clusters(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	common := map[model.BackendProtocol][]byte{}
	for _, p := range []model.BackendProtocol{model.HTTP1, model.HTTP2, model.NegotiatedHTTP} {
		common[p] = mustMarshal(commonCluster(p))
	}
	return flow.Rename(p.Backends, "envoy/clusters", backendResource(resource.Cluster),
		func(c *flow.Ctx, k plan.BackendKey, b model.Backend) (resource.Resource, bool) {
			if !ours(b.DataPlane) {
				return resource.Resource{}, false
			}
			part, warms := newPart("", mustMarshal(renderCluster(b)), common[b.Protocol]), false
			if k.Backend.Picker {
				part, warms = newPart("", mustMarshal(pickerCluster(b))), true
			}
			stated := fetch(c, p.Settings.Backends, k)
			if len(stated.From) > 0 {
				own := statedCluster(b, stated.BackendFields)
				part, warms = newPart("", mustMarshal(own)), len(own.HealthChecks)+len(stated.Secrets) > 0
			}
			part.Fragments = []resource.Fragment{backendFragment(k.Backend, part.Hash)}
			if b.TLS != nil && b.TLS.Policy != (model.ObjectRef{}) {
				if _, refused := flow.Fetch(c, s.refused, refusalKey(k.Gateway, part.Fragments[0])); refused {
					b.TLS = &model.BackendTLS{Closed: "the proxy refused it"}
					part = substituteCluster(b, part, common[b.Protocol])
				}
			}
			if b.Hostname == "" {
				// A new cluster serves once its endpoints are there; they follow it, and leave after it.
				part.Needs = []resource.Name{{Type: resource.Endpoints, Name: clusterName(k.Backend)}}
			}
			for _, s := range stated.Secrets {
				part.Needs = append(part.Needs, resource.Name{Type: resource.Secret, Name: s.Name})
			}
			if shown(b.TLS) {
				part.Needs = append(part.Needs, resource.Name{Type: resource.Secret, Name: clientSecretName(b.TLS.Certificate)})
			}
			r := resource.Join(part)
			r.Warms = warms
			return r, true
		})
}

// substituteCluster stands in place of a cluster that a proxy refused. It takes no request.
func substituteCluster(b model.Backend, cluster *resource.Part, common []byte) *resource.Part {
	part := newPart("", mustMarshal(renderCluster(b)), common)
	part.Fragments = slices.Clone(cluster.Fragments)
	part.Fragments[0].Refused = true
	return part
}

// commonCluster is what all clusters of a protocol have. Its bytes are shared by them.
func commonCluster(p model.BackendProtocol) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		ConnectTimeout:                seconds(connectTimeout),
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(connectionBufferBytes),
		CircuitBreakers:               noLimits(),
		UpstreamConnectionOptions: &clusterv3.UpstreamConnectionOptions{
			TcpKeepalive: tcpKeepalive(keepaliveIdle, keepaliveInterval),
		},
		TypedExtensionProtocolOptions: map[string]*anypb.Any{httpOptionsName: mustAny(upstreamHTTP(p))},
	}
}

// renderCluster is what a backend's cluster has of its own.
func renderCluster(b model.Backend) *clusterv3.Cluster {
	name := clusterName(b.Key)
	c := &clusterv3.Cluster{
		Name: name, TransportSocket: originateTLS(b.TLS, b.Protocol), LoadBalancingPolicy: choosing(b.Pool, nil),
	}
	if b.Hostname == "" {
		c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}
		c.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{EdsConfig: overADS()}
		return c
	}
	// The proxy looks the name up. It must not wait for the answer: a silent resolver would hold back every later
	// acknowledgement of clusters.
	c.ClusterDiscoveryType = lookedUp(b.WholeName)
	c.WaitForWarmOnInit = wrapperspb.Bool(false)
	c.LoadAssignment = assignment(name, []model.Endpoint{{Address: b.Hostname, Port: b.HostPort}})
	return c
}

// lookedUp is how a cluster finds the addresses of a DNS name. A whole name is looked up without search domains.
func lookedUp(whole bool) *clusterv3.Cluster_ClusterType {
	dns := &dnsv3.DnsCluster{RespectDnsTtl: true, DnsLookupFamily: dnscommonv3.DnsLookupFamily_V4_PREFERRED}
	if whole {
		dns.TypedDnsResolverConfig = &corev3.TypedExtensionConfig{
			Name: "envoy.network.dns_resolver.cares",
			TypedConfig: mustAny(&caresv3.CaresDnsResolverConfig{
				DnsResolverOptions: &corev3.DnsResolverOptions{NoDefaultSearchDomain: true},
			}),
		}
	}
	return &clusterv3.Cluster_ClusterType{ClusterType: &clusterv3.Cluster_CustomClusterType{
		Name: "envoy.clusters.dns", TypedConfig: mustAny(dns),
	}}
}

// noLimits lifts Envoy's circuit breakers, which by default let 1,024 connections and requests through. But of the
// requests that are under way few may be retries, or a backend in trouble would get a multiple of its load.
func noLimits() *clusterv3.CircuitBreakers {
	return &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
		MaxConnections:     wrapperspb.UInt32(unlimited),
		MaxPendingRequests: wrapperspb.UInt32(unlimited),
		MaxRequests:        wrapperspb.UInt32(unlimited),
		RetryBudget: &clusterv3.CircuitBreakers_Thresholds_RetryBudget{
			BudgetPercent:       &typev3.Percent{Value: retryPercent},
			MinRetryConcurrency: wrapperspb.UInt32(minRetries),
		},
	}}}
}

// upstreamHTTP says which HTTP a cluster speaks.
func upstreamHTTP(p model.BackendProtocol) *upstreamv3.HttpProtocolOptions {
	switch p {
	case model.HTTP2:
		return &upstreamv3.HttpProtocolOptions{UpstreamProtocolOptions: &upstreamv3.HttpProtocolOptions_ExplicitHttpConfig_{
			ExplicitHttpConfig: &upstreamv3.HttpProtocolOptions_ExplicitHttpConfig{
				ProtocolConfig: &upstreamv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
					Http2ProtocolOptions: http2Client(),
				},
			},
		}}
	case model.NegotiatedHTTP:
		return &upstreamv3.HttpProtocolOptions{UpstreamProtocolOptions: &upstreamv3.HttpProtocolOptions_AutoConfig{
			AutoConfig: &upstreamv3.HttpProtocolOptions_AutoHttpConfig{
				HttpProtocolOptions: &corev3.Http1ProtocolOptions{}, Http2ProtocolOptions: http2Client(),
			},
		}}
	}
	return &upstreamv3.HttpProtocolOptions{UpstreamProtocolOptions: &upstreamv3.HttpProtocolOptions_ExplicitHttpConfig_{
		ExplicitHttpConfig: &upstreamv3.HttpProtocolOptions_ExplicitHttpConfig{
			ProtocolConfig: &upstreamv3.HttpProtocolOptions_ExplicitHttpConfig_HttpProtocolOptions{
				HttpProtocolOptions: &corev3.Http1ProtocolOptions{},
			},
		},
	}}
}

func assignment(cluster string, addresses []model.Endpoint) *endpointv3.ClusterLoadAssignment {
	a := &endpointv3.ClusterLoadAssignment{ClusterName: cluster}
	var group *endpointv3.LocalityLbEndpoints
	for _, e := range addresses { // one group for each priority and zone, by which they are sorted
		if group == nil || group.Priority != e.Priority || group.GetLocality().GetZone() != e.Zone {
			group = &endpointv3.LocalityLbEndpoints{Priority: e.Priority}
			if e.Zone != "" {
				group.Locality = &corev3.Locality{Zone: e.Zone}
			}
			a.Endpoints = append(a.Endpoints, group)
		}
		group.LbEndpoints = append(group.LbEndpoints, &endpointv3.LbEndpoint{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: socketAddress(e.Address,
				e.Port)}},
		})
	}
	return a
}

func socketAddress(address string, port int32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address:       address,
		PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(port)},
	}}}
}
