package envoy

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// The files that PodBootstrap makes.
const (
	podMainFile  = "envoy.json"
	podCAFile    = "sds-ca.json"
	podTokenFile = "sds-token.json"
)

// PodConfig is what the Envoys of one Gateway start with where each runs in a pod. All paths are absolute, and inside
// the pod.
type PodConfig struct {
	NodeCluster string // what they have in common: "NAMESPACE/NAME" of the Gateway
	// ServerHost and ServerPort are where the xDS server is, a DNS name or an IP address; ServerName is in its
	// certificate.
	ServerHost string
	ServerPort int32
	ServerName string
	// ConfigDir is where the files stand that PodBootstrap makes.
	ConfigDir string
	// CAPath is the PEM bundle that the server's certificate is verified by, TokenPath the pod's token for the server.
	// Both are read again when the folder that they are in changes the way that Kubernetes' volumes do: by a renamed link.
	CAPath, TokenPath string
	// AdminSocket is the path of the Unix socket where Envoy's admin interface listens, in a folder that Envoy may write
	// to.
	AdminSocket string
	// ProbeAddress ("0.0.0.0"; "::" is IPv4, too) and ProbePort are where the three paths are answered, and nothing else.
	ProbeAddress string
	ProbePort    int32
	// ReadyPath answers 200 when the first configuration is whole and all ports are open, and goes on while the proxy
	// drains. LivePath answers 200 when the proxy's threads do, from then on. DrainPath, which whoever knows it may call,
	// tells every client to leave and answers after Drain; there is none if Drain is 0.
	ReadyPath, LivePath, DrainPath string
	Drain                          time.Duration
}

// PodBootstrap renders what such Envoys start with, as JSON files by name: the bootstrap, and the two that lead to the
// CA bundle and to the token, which Envoy follows. Nothing in them names a pod: PodCommand does.
func PodBootstrap(cfg PodConfig) (map[string][]byte, error) {
	switch {
	case cfg.ServerHost == "" || cfg.ServerPort == 0 || cfg.ServerName == "":
		return nil, errors.New("envoy bootstrap: the server's host, port and name are needed")
	case cfg.AdminSocket == "" || cfg.ConfigDir == "" || cfg.CAPath == "" || cfg.TokenPath == "":
		return nil,
			errors.New(
				"envoy bootstrap: the paths of the configuration, the CA bundle, the token and the admin socket are needed",
			)
	case cfg.ProbeAddress == "" || cfg.ProbePort == 0:
		return nil, errors.New("envoy bootstrap: the address and port of the probes are needed")
	}
	// Without a limit to the wait for the first answers, a proxy that can't reach the server stays what it is: not ready.
	// With one, it would be ready after 15 s, with no listener, and take the place of a proxy that serves.
	whole := overADS()
	whole.InitialFetchTimeout = seconds(0)
	b := bootstrap(&corev3.Node{Id: "pod", Cluster: cfg.NodeCluster}, pipe(cfg.AdminSocket))
	b.DynamicResources = dynamicResources(
		&corev3.GrpcService_EnvoyGrpc{ClusterName: xdsCluster, Authority: cfg.ServerName}, whole,
	)
	b.StaticResources = &bootstrapv3.Bootstrap_StaticResources{
		Clusters:  []*clusterv3.Cluster{serverInNetwork(cfg), staticCluster(adminCluster, pipe(cfg.AdminSocket))},
		Listeners: []*listenerv3.Listener{probeListener(cfg)},
	}
	files := map[string][]byte{}
	for name, message := range map[string]proto.Message{
		podMainFile:  b,
		podCAFile:    &discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{mustAny(authority(cfg))}},
		podTokenFile: &discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{mustAny(token(cfg))}},
	} {
		text, err := toJSON(message)
		if err != nil {
			return nil, fmt.Errorf("envoy bootstrap: %s: %w", name, err)
		}
		files[name] = append(text, '\n')
	}
	return files, nil
}

// PodCommand is the command line of an Envoy with the files of PodBootstrap in configDir. Its log has the given level;
// "" is warning.
func PodCommand(configDir, level, nodeID string) []string {
	command := append([]string{"envoy"}, flagsAt(level)...)
	return append(command, "--config-path", path.Join(configDir, podMainFile), "--service-node", nodeID)
}

// server is where the server is, and how it is found.
func (cfg PodConfig) server() *clusterv3.Cluster {
	c := staticCluster(xdsCluster, socketAddress(cfg.ServerHost, cfg.ServerPort))
	if _, err := netip.ParseAddr(cfg.ServerHost); err != nil {
		c.ClusterDiscoveryType = lookedUp()
	}
	return c
}
