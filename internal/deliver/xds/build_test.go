package xds

import (
	"fmt"
	"hash/fnv"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	filterchainv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/filter_chain/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// The builders make resources by hand, as a dialect would.

func hashOf(b ...[]byte) uint64 {
	h := fnv.New64a()
	for _, p := range b {
		h.Write(p)
	}
	return h.Sum64()
}

func mustMarshal(m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

func mustAny(m proto.Message) *anypb.Any {
	a, err := anypb.New(m)
	if err != nil {
		panic(err)
	}
	return a
}

// rule is the origin of a route's rule.
func rule(name string) resource.Origin {
	return resource.Origin{Object: model.Ref(model.KindHTTPRoute, "test", name), Section: "rule"}
}

// field is one length-delimited field.
func field(number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

// part makes a part of one message.
func part(id string, m proto.Message, fragments []resource.Fragment, needs ...resource.Name) *resource.Part {
	b := mustMarshal(m)
	return &resource.Part{ID: id, Hash: hashOf(b), Bytes: [][]byte{b}, Size: len(b), Needs: needs, Fragments: fragments}
}

// whole makes a resource of parts.
func whole(parts ...*resource.Part) resource.Resource {
	slices.SortFunc(parts, func(a, b *resource.Part) int { return strings.Compare(a.ID, b.ID) })
	h := uint64(17)
	for _, p := range parts {
		h = h*31 + p.Hash
	}
	return resource.Resource{Version: strconv.FormatUint(h, 36), Parts: parts}
}

// single makes a resource of one part with one fragment.
func single(kind model.Kind, name string, m proto.Message, needs ...resource.Name) resource.Resource {
	p := part("", m, nil, needs...)
	p.Fragments = []resource.Fragment{{Origin: resource.Origin{Object: model.Ref(kind, "test", name)}, Hash: p.Hash}}
	return whole(p)
}

func socketAddress(host string, port int) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(port)},
	}}}
}

func adsSource() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
	}
}

// edsCluster is a cluster whose endpoints come by EDS under its own name.
func edsCluster(name string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 name,
		ConnectTimeout:       durationpb.New(2 * time.Second),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig:     &clusterv3.Cluster_EdsClusterConfig{EdsConfig: adsSource()},
	}
}

func cluster(c *clusterv3.Cluster) resource.Resource {
	var needs []resource.Name
	if c.GetType() == clusterv3.Cluster_EDS {
		needs = append(needs, resource.Name{Type: xdstypes.Endpoints, Name: c.Name})
	}
	return single(model.KindService, c.Name, c, needs...)
}

func assignment(name string, ports ...int) *endpointv3.ClusterLoadAssignment {
	a := &endpointv3.ClusterLoadAssignment{ClusterName: name}
	var eps []*endpointv3.LbEndpoint
	for _, p := range ports {
		eps = append(eps, &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
			Endpoint: &endpointv3.Endpoint{Address: socketAddress("127.0.0.1", p)},
		}})
	}
	if len(eps) > 0 {
		a.Endpoints = []*endpointv3.LocalityLbEndpoints{{LbEndpoints: eps}}
	}
	return a
}

func endpoints(name string, ports ...int) resource.Resource {
	return single(model.KindEndpointSlice, name, assignment(name, ports...))
}

// manager looks requests up in a table.
func manager(name, table string) *hcmv3.HttpConnectionManager {
	return &hcmv3.HttpConnectionManager{
		StatPrefix: name,
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
			RouteConfigName: table, ConfigSource: adsSource(),
		}},
		HttpFilters: []*hcmv3.HttpFilter{{
			Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: mustAny(&routerv3.Router{})},
		}},
	}
}

func noPort(l *listenerv3.Listener, _ *hcmv3.HttpConnectionManager) {
	l.BindToPort = wrapperspb.Bool(false)
}

// listener serves a route table at a port.
func listener(name string, port int, table string, change ...func(*listenerv3.Listener,
	*hcmv3.HttpConnectionManager)) resource.Resource {
	h := manager(name, table)
	l := &listenerv3.Listener{
		Name: name, Address: socketAddress("127.0.0.1", port), StatPrefix: name,
		EnableReusePort: wrapperspb.Bool(false),
	}
	for _, f := range change {
		f(l, h)
	}
	l.FilterChains = []*listenerv3.FilterChain{{Name: "plain", Filters: []*listenerv3.Filter{{
		Name: "hcm", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: mustAny(h)},
	}}}}
	r := single(model.KindGateway, name, l, resource.Name{Type: xdstypes.Routes, Name: table})
	r.Binds = []string{fmt.Sprintf("127.0.0.1:%d", port)}
	return r
}

// host is a virtual host of one table: a few rules, each with its prefix.
type host struct {
	name  string
	rules []hostRule
}

// hostRule sends a prefix to a cluster, or answers itself. A rule with a bad expression is refused by Envoy. One with a
// large expression is refused if Envoy's limit is what it is by default; one that brings filters by Envoys before 1.39.
type hostRule struct {
	name, prefix, cluster, body string
	bad, large, filters         bool
}

func (r hostRule) route() *routev3.Route {
	m := &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/" + r.prefix}}
	if r.bad {
		m.Headers = []*routev3.HeaderMatcher{{Name: "x", HeaderMatchSpecifier: stringMatch("[" + r.name)}}
	}
	if r.large {
		m.Headers = []*routev3.HeaderMatcher{{Name: "x", HeaderMatchSpecifier: stringMatch("(a{1000})?.*"),
			TreatMissingHeaderAsEmpty: true}}
	}
	out := &routev3.Route{Name: r.name, Match: m}
	if r.filters {
		out.TypedPerFilterConfig = map[string]*anypb.Any{"filters": mustAny(&filterchainv3.FilterChainConfigPerRoute{
			FilterChain: &filterchainv3.FilterChain{Filters: []*corev3.TypedExtensionConfig{{Name: "cors",
				TypedConfig: mustAny(&corsv3.Cors{})}}},
		})}
	}
	if r.cluster != "" {
		out.Action = &routev3.Route_Route{Route: &routev3.RouteAction{
			ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: r.cluster},
		}}
	} else {
		out.Action = direct(200, r.body)
	}
	return out
}

func direct(code uint32, body string) *routev3.Route_DirectResponse {
	return &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{
		Status: code, Body: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: body}},
	}}
}

// table makes a route table. refused tells which rules are to be substituted; nil: none.
func table(name string, hosts []host, refused func(origin resource.Origin, hash uint64) bool) resource.Resource {
	head := &routev3.RouteConfiguration{
		Name: name, IgnorePortInHostMatching: true, ValidateClusters: wrapperspb.Bool(false),
	}
	parts := []*resource.Part{part("", head, nil)}
	for _, h := range hosts {
		own := mustMarshal(&routev3.VirtualHost{Name: h.name, Domains: []string{h.name}})
		routes := [][]byte{nil}
		size := len(own)
		var fs []resource.Fragment
		var needs []resource.Name
		for _, r := range h.rules {
			rt := r.route()
			f := resource.Fragment{Origin: rule(r.name), Hash: hashOf(mustMarshal(rt))}
			if refused != nil && refused(f.Origin, f.Hash) {
				f.Refused = true
				rt = &routev3.Route{Name: r.name, Match: hostRule{prefix: r.prefix}.route().Match, Action: direct(500, "refused")}
			} else if r.cluster != "" {
				needs = append(needs, resource.Name{Type: xdstypes.Cluster, Name: r.cluster})
			}
			fs = append(fs, f)
			routes = append(routes, field(3, mustMarshal(rt)))
			size += len(routes[len(routes)-1])
		}
		routes[0] = append(protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.BytesType), uint64(size)), own...)
		p := &resource.Part{ID: "vhost/" + h.name, Bytes: routes, Needs: needs, Fragments: fs}
		p.Hash, p.Size = hashOf(p.Bytes...), size-len(own)+len(routes[0])
		parts = append(parts, p)
	}
	return whole(parts...)
}

// testProtocol is Envoy's, with what is tried of table and chained.
func testProtocol() resource.Protocol {
	p := envoy.Protocol()
	p.Trials = testTrials{}
	return withHead(p, entriesHead)
}

// testTrials makes trials of what table makes.
type testTrials struct{}

func (testTrials) BuildListener(name, table string) resource.Resource {
	return listener(name, 1, table, noPort)
}

func (testTrials) BuildTrial(t resource.Type, name string, pieces [][]byte) resource.Resource {
	if t == xdstypes.Listener {
		b := slices.Concat(append([][]byte{mustMarshal(tlsListener(name, 2, noPort))}, pieces...)...)
		return whole(&resource.Part{Hash: hashOf(b), Bytes: [][]byte{b}, Size: len(b)})
	}
	own := slices.Concat(append([][]byte{mustMarshal(&routev3.VirtualHost{Name: name, Domains: []string{"*"}})},
		pieces...)...)
	b := slices.Concat(mustMarshal(&routev3.RouteConfiguration{Name: name}), field(2, own))
	return whole(&resource.Part{Hash: hashOf(b), Bytes: [][]byte{b}, Size: len(b)})
}

func (testTrials) SplitPieces(t resource.Type, p *resource.Part) map[resource.Origin][][]byte {
	pieces := map[resource.Origin][][]byte{}
	if t == xdstypes.Listener {
		if p.ID != "" {
			pieces[p.Fragments[0].Origin] = p.Bytes
		}
		return pieces
	}
	for _, b := range p.Bytes[1:] {
		var r routev3.Route
		_, _, n := protowire.ConsumeField(b)
		value, _ := protowire.ConsumeBytes(b[protowire.SizeTag(3):n])
		if err := proto.Unmarshal(value, &r); err != nil {
			panic(err)
		}
		pieces[rule(r.Name)] = append(pieces[rule(r.Name)], b)
	}
	return pieces
}

// toCluster is a table that sends every host to one cluster.
func toCluster(name, cluster string) resource.Resource {
	return table(name, []host{{"*", []hostRule{{name: "all", cluster: cluster}}}}, nil)
}

// freePorts finds ports that nobody uses right now.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}
