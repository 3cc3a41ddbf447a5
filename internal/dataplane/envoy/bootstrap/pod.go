package bootstrap

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
)

// The files that RenderPod makes.
const (
	PodFile      = "envoy.json"
	podCAFile    = "sds-ca.json"
	podTokenFile = "sds-token.json"
)

// Pod says how Envoys run in pods.
func Pod() dataplane.Pod {
	return dataplane.Pod{
		Image: "envoyproxy/envoy:distroless-v" + Version, Files: RenderPod, Command: PodCommand,
		MetricsPath: MetricsPath,
	}
}

// RenderPod renders what such Envoys start with, as FormatJSON files by name: the bootstrap, and the two that lead
// to the CA bundle and to the token, which Envoy follows. Nothing in them names a pod: PodCommand does.
func RenderPod(cfg dataplane.PodOptions) (map[string][]byte, error) {
	switch {
	case cfg.ServerHost == "" || cfg.ServerPort == 0 || cfg.ServerName == "":
		return nil, errors.New("envoy bootstrap: the server's host, port and name are needed")
	case cfg.ConfigDir == "" || cfg.CAPath == "" || cfg.TokenPath == "":
		return nil, errors.New("envoy bootstrap: the paths of the configuration, the CA bundle and the token are needed")
	}
	b, err := newPodBootstrap(cfg)
	if err != nil {
		return nil, err
	}
	// Without a limit to the wait for the first answers, a proxy that can't reach the server stays what it is: not ready.
	// With one, it would be ready after 15 s, with no listener, and take the place of a proxy that serves.
	whole := message.ADSConfigSource()
	whole.InitialFetchTimeout = durationpb.New(0)
	b.DynamicResources = dynamicResources(
		&corev3.GrpcService_EnvoyGrpc{ClusterName: xdsCluster, Authority: cfg.ServerName}, whole,
	)
	b.StaticResources.Clusters = slices.Insert(b.StaticResources.Clusters, 0, xdsClusterInNetwork(cfg))
	AddLocalCluster(b, SharedLocalCluster(message.ADSConfigSource()))
	files := map[string][]byte{}
	for name, content := range map[string]proto.Message{
		PodFile:      b,
		podCAFile:    &discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{message.MustAny(podCASecret(cfg))}},
		podTokenFile: &discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{message.MustAny(podTokenSecret(cfg))}},
	} {
		text, err := message.FormatJSON(content)
		if err != nil {
			return nil, fmt.Errorf("envoy bootstrap: %s: %w", name, err)
		}
		files[name] = append(text, '\n')
	}
	return files, nil
}

// RenderPodFrom is what Envoys of a pod start with that get their configuration from elsewhere than a server: one
// file, for PodCommand. members is where those of the local cluster come from.
func RenderPodFrom(
	cfg dataplane.PodOptions, from *bootstrapv3.Bootstrap_DynamicResources, members *corev3.ConfigSource,
) (map[string][]byte, error) {
	b, err := newPodBootstrap(cfg)
	if err != nil {
		return nil, err
	}
	b.DynamicResources = from
	AddLocalCluster(b, SharedLocalCluster(members))
	text, err := message.FormatJSON(b)
	if err != nil {
		return nil, fmt.Errorf("envoy bootstrap: %w", err)
	}
	return map[string][]byte{PodFile: append(text, '\n')}, nil
}

// newPodBootstrap is what all Envoys of pods start with: the admin interface, and what answers the kubelet.
func newPodBootstrap(cfg dataplane.PodOptions) (*bootstrapv3.Bootstrap, error) {
	switch {
	case cfg.AdminSocket == "":
		return nil, errors.New("envoy bootstrap: the path of the admin socket is needed")
	case cfg.ProbeAddress == "" || cfg.ProbePort == 0:
		return nil, errors.New("envoy bootstrap: the address and port of the probes are needed")
	case cfg.MetricsPort == 0:
		return nil, errors.New("envoy bootstrap: the port of the metrics is needed")
	}
	b := baseBootstrap(&corev3.Node{Id: "pod", Cluster: cfg.NodeCluster}, message.PipeAddress(cfg.AdminSocket), cfg.Memory)
	b.StaticResources = &bootstrapv3.Bootstrap_StaticResources{
		Clusters: []*clusterv3.Cluster{
			message.StaticCluster(adminCluster, message.PipeAddress(cfg.AdminSocket)), newEntranceCluster(cfg),
		},
		Listeners: []*listenerv3.Listener{probeListener(cfg), entranceListener(cfg), metricsListener(cfg)},
	}
	return b, nil
}

// PodCommand is the command line of an Envoy with the files of RenderPod in configDir. Its log has the given level;
// "" is warning.
func PodCommand(configDir, level, nodeID string) []string {
	command := append([]string{"envoy"}, flagsAt(level)...)
	return append(command, "--config-path", path.Join(configDir, PodFile), "--service-node", nodeID)
}

// xdsServerCluster is where the server is, and how it is found.
func xdsServerCluster(cfg dataplane.PodOptions) *clusterv3.Cluster {
	c := message.StaticCluster(xdsCluster, message.SocketAddress(cfg.ServerHost, cfg.ServerPort))
	if _, err := netip.ParseAddr(cfg.ServerHost); err != nil {
		c.ClusterDiscoveryType = message.DNSDiscovery(false)
	}
	return c
}
