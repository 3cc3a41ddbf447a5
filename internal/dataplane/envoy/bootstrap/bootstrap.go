// Package bootstrap says how an Envoy is started: the configuration that it starts with, its flags and files, as a
// child process and in a pod, and what it is asked while it runs.
//
// It owns the version of Envoy, how it reaches its server, its overload limits, and the probes of the kubelet. It must
// never know a plan, or the resources that the server sends later. Start reading at Render, Child and Pod.
package bootstrap

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/metrics"
)

// xdsCluster is the cluster that an Envoy reaches its server by.
const xdsCluster = "xds"

// Between two tries to reach the server there is a pause, at random up to a limit that doubles from the first to the
// last. By default it grows to 30 s: too long for a server that was started again.
const (
	firstReconnect = 500 * time.Millisecond
	lastReconnect  = 5 * time.Second
)

// Config is what one Envoy starts with.
type Config struct {
	NodeID, NodeCluster string
	// XDSSocket is the path of the Unix socket where the server listens.
	XDSSocket string
	// AdminSocket is the path of the Unix socket where Envoy's admin interface listens; or AdminAddress, "IP:port".
	AdminSocket  string
	AdminAddress string
	Memory       int64 // that it may take, in bytes; 0: its heap has no bound
}

// Render renders an Envoy's bootstrap, as FormatJSON.
func Render(cfg Config) ([]byte, error) {
	if cfg.NodeID == "" || cfg.XDSSocket == "" {
		return nil, errors.New("envoy bootstrap: a node id and the server's socket are needed")
	}
	admin, err := adminAddress(cfg)
	if err != nil {
		return nil, err
	}
	b := baseBootstrap(&corev3.Node{Id: cfg.NodeID, Cluster: cfg.NodeCluster}, admin, cfg.Memory)
	b.DynamicResources = dynamicResources(&corev3.GrpcService_EnvoyGrpc{ClusterName: xdsCluster},
		message.ADSConfigSource())
	b.StaticResources = &bootstrapv3.Bootstrap_StaticResources{
		Clusters: []*clusterv3.Cluster{xdsClusterOnSocket(cfg.XDSSocket)},
	}
	AddLocalCluster(b, singleLocalCluster())
	return message.FormatJSON(b)
}

// RenderChild is what a child process starts with that gets its configuration from elsewhere than a server, as
// FormatJSON.
func RenderChild(s dataplane.ChildOptions, from *bootstrapv3.Bootstrap_DynamicResources) ([]byte, error) {
	b := baseBootstrap(&corev3.Node{Id: s.Node, Cluster: s.Node}, message.PipeAddress(s.AdminSocket), s.Memory)
	b.DynamicResources = from
	AddLocalCluster(b, singleLocalCluster())
	return message.FormatJSON(b)
}

// baseBootstrap is what all Envoys start with, wherever they run.
func baseBootstrap(node *corev3.Node, admin *corev3.Address, memory int64) *bootstrapv3.Bootstrap {
	return &bootstrapv3.Bootstrap{
		Node:                node,
		Admin:               &bootstrapv3.Admin{Address: admin, IgnoreGlobalConnLimit: true},
		DeferredStatOptions: &bootstrapv3.Bootstrap_DeferredStatOptions{EnableDeferredCreationStats: true},
		OverloadManager:     overloadManager(memory),
		LayeredRuntime:      largeRegexes(),
		StatsConfig:         metrics.NewConfig(node.GetCluster()),
		StatsEviction: &bootstrapv3.Bootstrap_StatsEvictionInterval{
			StatsEvictionInterval: durationpb.New(metrics.RequestTTL),
		},
	}
}

func adminAddress(cfg Config) (*corev3.Address, error) {
	if cfg.AdminAddress == "" {
		if cfg.AdminSocket == "" {
			return nil, errors.New("envoy bootstrap: a socket or an address for the admin interface is needed")
		}
		return message.PipeAddress(cfg.AdminSocket), nil
	}
	host, text, err := net.SplitHostPort(cfg.AdminAddress)
	if err != nil {
		return nil, fmt.Errorf("envoy bootstrap: admin address: %w", err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("envoy bootstrap: admin address: %w", err)
	}
	return message.SocketAddress(host, int32(port)), nil
}

// dynamicResources come from one server over one stream; whole says so of the list of all clusters, and that of all
// listeners.
func dynamicResources(
	server *corev3.GrpcService_EnvoyGrpc, whole *corev3.ConfigSource,
) *bootstrapv3.Bootstrap_DynamicResources {
	server.RetryPolicy = &corev3.RetryPolicy{RetryBackOff: &corev3.BackoffStrategy{
		BaseInterval: durationpb.New(firstReconnect), MaxInterval: durationpb.New(lastReconnect),
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

// xdsClusterOnSocket is the server on a Unix socket: the file's owner and mode say who may talk to it. In a network it
// is xdsClusterInNetwork.
func xdsClusterOnSocket(path string) *clusterv3.Cluster {
	c := message.StaticCluster(xdsCluster, message.PipeAddress(path))
	c.TypedExtensionProtocolOptions = map[string]*anypb.Any{message.HTTPOptionsName: message.MustAny(
		message.HTTP2Upstream())}
	return c
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

// LocalCluster is the cluster of a Gateway's own proxies. Nothing is sent to it: limits that they share are divided by
// the number of its members. Envoy wants it in the bootstrap; no cluster of a backend has a name without a slash.
const LocalCluster = "local"

// localFetchTimeout is how long a start waits for the members. Until they are known a limit is not divided.
const localFetchTimeout = 2 * time.Second

// singleLocalCluster is the cluster of a proxy that is the only one of its Gateway.
func singleLocalCluster() *clusterv3.Cluster {
	return message.StaticCluster(LocalCluster, message.SocketAddress("127.0.0.1", 1))
}

// SharedLocalCluster is the cluster of a proxy that may be one of several.
func SharedLocalCluster(members *corev3.ConfigSource) *clusterv3.Cluster {
	members.InitialFetchTimeout = durationpb.New(localFetchTimeout)
	return &clusterv3.Cluster{
		Name: LocalCluster, ConnectTimeout: durationpb.New(message.ConnectTimeout),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig:     &clusterv3.Cluster_EdsClusterConfig{EdsConfig: members},
	}
}

// AddLocalCluster puts the cluster into a bootstrap.
func AddLocalCluster(b *bootstrapv3.Bootstrap, local *clusterv3.Cluster) {
	b.ClusterManager = &bootstrapv3.ClusterManager{LocalClusterName: LocalCluster}
	if b.StaticResources == nil {
		b.StaticResources = new(bootstrapv3.Bootstrap_StaticResources)
	}
	b.StaticResources.Clusters = append(b.StaticResources.Clusters, local)
}
