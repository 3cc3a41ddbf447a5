package envoy

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	upstreamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/model"
)

// xdsCluster is the cluster that an Envoy reaches its server by.
const xdsCluster = "xds"

// Between two tries to reach the server there is a pause, at random up to a limit that doubles from the first to the
// last. By default it grows to 30 s: too long for a server that was started again.
const (
	firstReconnect = 500 * time.Millisecond
	lastReconnect  = 5 * time.Second
)

// BootstrapConfig is what one Envoy starts with.
type BootstrapConfig struct {
	NodeID, NodeCluster string
	// XDSSocket is the path of the Unix socket where the server listens.
	XDSSocket string
	// AdminSocket is the path of the Unix socket where Envoy's admin interface listens; or AdminAddress, "IP:port".
	AdminSocket  string
	AdminAddress string
	Memory       int64 // that it may take, in bytes; 0: its heap has no bound
}

// Bootstrap renders an Envoy's bootstrap, as JSON.
func Bootstrap(cfg BootstrapConfig) ([]byte, error) {
	if cfg.NodeID == "" || cfg.XDSSocket == "" {
		return nil, errors.New("envoy bootstrap: a node id and the server's socket are needed")
	}
	admin, err := adminAddress(cfg)
	if err != nil {
		return nil, err
	}
	b := bootstrap(&corev3.Node{Id: cfg.NodeID, Cluster: cfg.NodeCluster}, admin, cfg.Memory)
	b.DynamicResources = dynamicResources(&corev3.GrpcService_EnvoyGrpc{ClusterName: xdsCluster}, overADS())
	b.StaticResources = &bootstrapv3.Bootstrap_StaticResources{
		Clusters: []*clusterv3.Cluster{serverOnSocket(cfg.XDSSocket)},
	}
	withLocal(b, alone())
	return JSON(b)
}

// ChildBootstrap is what a child process starts with that gets its configuration from elsewhere than a server, as JSON.
func ChildBootstrap(s dataplane.ChildStart, from *bootstrapv3.Bootstrap_DynamicResources) ([]byte, error) {
	b := bootstrap(&corev3.Node{Id: s.Node, Cluster: s.Node}, pipe(s.AdminSocket), s.Memory)
	b.DynamicResources = from
	withLocal(b, alone())
	return JSON(b)
}

// bootstrap is what all Envoys start with, wherever they run.
func bootstrap(node *corev3.Node, admin *corev3.Address, memory int64) *bootstrapv3.Bootstrap {
	return &bootstrapv3.Bootstrap{
		Node:                node,
		Admin:               &bootstrapv3.Admin{Address: admin, IgnoreGlobalConnLimit: true},
		DeferredStatOptions: &bootstrapv3.Bootstrap_DeferredStatOptions{EnableDeferredCreationStats: true},
		OverloadManager:     overload(memory),
		LayeredRuntime:      largeRegexes(),
		StatsConfig:         statistics(node.GetCluster()),
		StatsEviction:       &bootstrapv3.Bootstrap_StatsEvictionInterval{StatsEvictionInterval: seconds(requestsForgotten)},
	}
}

func adminAddress(cfg BootstrapConfig) (*corev3.Address, error) {
	if cfg.AdminAddress == "" {
		if cfg.AdminSocket == "" {
			return nil, errors.New("envoy bootstrap: a socket or an address for the admin interface is needed")
		}
		return pipe(cfg.AdminSocket), nil
	}
	host, text, err := net.SplitHostPort(cfg.AdminAddress)
	if err != nil {
		return nil, fmt.Errorf("envoy bootstrap: admin address: %w", err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("envoy bootstrap: admin address: %w", err)
	}
	return socketAddress(host, int32(port)), nil
}

// dynamicResources come from one server over one stream; whole says so of the list of all clusters, and that of all
// listeners.
func dynamicResources(
	server *corev3.GrpcService_EnvoyGrpc, whole *corev3.ConfigSource,
) *bootstrapv3.Bootstrap_DynamicResources {
	server.RetryPolicy = &corev3.RetryPolicy{RetryBackOff: &corev3.BackoffStrategy{
		BaseInterval: seconds(firstReconnect), MaxInterval: seconds(lastReconnect),
	}}
	return &bootstrapv3.Bootstrap_DynamicResources{
		CdsConfig: whole,
		LdsConfig: whole,
		AdsConfig: &corev3.ApiConfigSource{
			ApiType:                   corev3.ApiConfigSource_DELTA_GRPC,
			TransportApiVersion:       corev3.ApiVersion_V3,
			SetNodeOnFirstMessageOnly: true,
			GrpcServices: []*corev3.GrpcService{{
				TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: server},
			}},
		},
	}
}

// serverOnSocket is the server on a Unix socket: the file's owner and mode say who may talk to it. In a network it is
// serverInNetwork.
func serverOnSocket(path string) *clusterv3.Cluster {
	c := staticCluster(xdsCluster, pipe(path))
	c.TypedExtensionProtocolOptions = map[string]*anypb.Any{httpOptionsName: mustAny(http2Upstream())}
	return c
}

// staticCluster is a cluster of the bootstrap with one address.
func staticCluster(name string, address *corev3.Address) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		ConnectTimeout:       seconds(connectTimeout),
		LoadAssignment: &endpointv3.ClusterLoadAssignment{
			ClusterName: name,
			Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
				HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: address}},
			}}}},
		},
	}
}

func pipe(path string) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: path}}}
}

func http2Upstream() *upstreamv3.HttpProtocolOptions {
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

// largeRegexes lifts Envoy's limit on regular expressions. model.CheckRegex has measured the expressions of a table
// before.
func largeRegexes() *bootstrapv3.LayeredRuntime {
	limits := &structpb.Struct{Fields: map[string]*structpb.Value{
		"re2.max_program_size.error_level": structpb.NewNumberValue(10 * model.MaxRegexSize),
	}}
	return &bootstrapv3.LayeredRuntime{Layers: []*bootstrapv3.RuntimeLayer{{
		Name:           "static",
		LayerSpecifier: &bootstrapv3.RuntimeLayer_StaticLayer{StaticLayer: limits},
	}}}
}
