package message

import (
	"bytes"
	"encoding/json"
	"fmt"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	dnscommonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/common/dns/v3"
	dnsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/dns/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	caresv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/network/dns_resolver/cares/v3"
	upstreamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// StaticCluster is a cluster of the bootstrap with one address.
func StaticCluster(name string, address *corev3.Address) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		ConnectTimeout:       durationpb.New(ConnectTimeout),
		LoadAssignment: &endpointv3.ClusterLoadAssignment{
			ClusterName: name,
			Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
				HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: address}},
			}}}},
		},
	}
}

// PipeAddress is the address of a Unix socket.
func PipeAddress(path string) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: path}}}
}

// HTTP2Upstream is a cluster that speaks HTTP/2 only.
func HTTP2Upstream() *upstreamv3.HttpProtocolOptions {
	return &upstreamv3.HttpProtocolOptions{
		UpstreamProtocolOptions: &upstreamv3.HttpProtocolOptions_ExplicitHttpConfig_{
			ExplicitHttpConfig: &upstreamv3.HttpProtocolOptions_ExplicitHttpConfig{
				ProtocolConfig: &upstreamv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
					Http2ProtocolOptions: &corev3.Http2ProtocolOptions{},
				},
			},
		},
	}
}

// RouterFilter is the HTTP filter that ends every chain.
func RouterFilter() *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{
		Name:       "router",
		ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: MustAny(&routerv3.Router{SuppressEnvoyHeaders: true})},
	}
}

// HTTPOptionsName is where a cluster keeps how it speaks HTTP.
const HTTPOptionsName = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"

// DNSDiscovery is how a cluster finds the addresses of a DNS name. A whole name is looked up without search domains.
func DNSDiscovery(whole bool) *clusterv3.Cluster_ClusterType {
	dns := &dnsv3.DnsCluster{RespectDnsTtl: true, DnsLookupFamily: dnscommonv3.DnsLookupFamily_V4_PREFERRED}
	if whole {
		dns.TypedDnsResolverConfig = &corev3.TypedExtensionConfig{
			Name: "envoy.network.dns_resolver.cares",
			TypedConfig: MustAny(&caresv3.CaresDnsResolverConfig{
				DnsResolverOptions: &corev3.DnsResolverOptions{NoDefaultSearchDomain: true},
			}),
		}
	}
	return &clusterv3.Cluster_ClusterType{ClusterType: &clusterv3.Cluster_CustomClusterType{
		Name: "envoy.clusters.dns", TypedConfig: MustAny(dns),
	}}
}

// UpstreamHTTP says which HTTP a cluster speaks.
func UpstreamHTTP(p model.BackendProtocol) *upstreamv3.HttpProtocolOptions {
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

// LoadAssignment has the endpoints of a cluster.
func LoadAssignment(cluster string, addresses []model.Endpoint) *endpointv3.ClusterLoadAssignment {
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
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: SocketAddress(e.Address,
				e.Port)}},
		})
	}
	return a
}

// SocketAddress is an address and a port of TCP.
func SocketAddress(address string, port int32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address:       address,
		PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(port)},
	}}}
}

// FormatJSON prints a message with the field names of the protos. protojson puts in spaces at random; they are taken
// out.
func FormatJSON(m proto.Message) ([]byte, error) {
	b, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("print %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return nil, fmt.Errorf("print %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return out.Bytes(), nil
}

// ExactMatcher matches one text.
func ExactMatcher(value string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: value}}
}

// InlineText is a text that stands in the message itself.
func InlineText(text string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: text}}
}

// NewMessage is an empty message of a type of resource.
func NewMessage(t resource.Type) (proto.Message, error) {
	switch t {
	case xdstypes.Cluster:
		return new(clusterv3.Cluster), nil
	case xdstypes.Endpoints:
		return new(endpointv3.ClusterLoadAssignment), nil
	case xdstypes.Secret:
		return new(tlsv3.Secret), nil
	case xdstypes.Listener:
		return new(listenerv3.Listener), nil
	case xdstypes.Routes:
		return new(routev3.RouteConfiguration), nil
	case xdstypes.Extension:
		return new(corev3.TypedExtensionConfig), nil
	}
	return nil, fmt.Errorf("resource type %d is unknown", t)
}
