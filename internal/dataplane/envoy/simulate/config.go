package simulate

import (
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// Config is all resources of one proxy.
type Config struct {
	// Gates finds what a filter belongs to that is not simulated, by the route that it has settings for and its key; nil:
	// nothing is known of such filters.
	Gates func(route string, filter request.GateKey) (request.Gate, bool)

	listeners map[string]*listenerv3.Listener
	tables    map[string]*table
	clusters  map[string]*clusterv3.Cluster
	endpoints map[string]*endpointv3.ClusterLoadAssignment
	secrets   map[string]bool // whether clients' certificates have to be valid by it
	// extensions are configurations of filters, as their messages (TypedExtensionConfig)
	extensions map[string][]byte

	expressions map[string]*envoyRegex // compiled once
}

// New makes a Config without resources.
func New() *Config {
	return &Config{
		listeners: map[string]*listenerv3.Listener{}, tables: map[string]*table{}, clusters: map[string]*clusterv3.Cluster{},
		endpoints: map[string]*endpointv3.ClusterLoadAssignment{}, secrets: map[string]bool{},
		expressions: map[string]*envoyRegex{}, extensions: map[string][]byte{},
	}
}

// Add adds a resource, or replaces it. b is the resource's message. Of an Extension only what shares
// connections is evaluated.
func (c *Config) Add(t resource.Type, name string, b []byte) (err error) {
	switch t {
	case xdstypes.Listener:
		err = unmarshalInto(c.listeners, name, b, new(listenerv3.Listener))
	case xdstypes.Cluster:
		err = unmarshalInto(c.clusters, name, b, new(clusterv3.Cluster))
	case xdstypes.Endpoints:
		err = unmarshalInto(c.endpoints, name, b, new(endpointv3.ClusterLoadAssignment))
	case xdstypes.Routes:
		c.tables[name], err = readTable(b)
	case xdstypes.Secret:
		secret := new(tlsv3.Secret)
		if err = proto.Unmarshal(b, secret); err == nil {
			judges := secret.GetValidationContext()
			c.secrets[name] = judges != nil &&
				judges.GetTrustChainVerification() != tlsv3.CertificateValidationContext_ACCEPT_UNTRUSTED
		}
	case xdstypes.Extension:
		c.extensions[name] = b
	default:
		err = fmt.Errorf("resources of type %d are not known", t)
	}
	if err != nil {
		return fmt.Errorf("read %s %s: %w", xdstypes.Name(t), name, err)
	}
	return nil
}

func unmarshalInto[M proto.Message](all map[string]M, name string, b []byte, m M) error {
	all[name] = m
	return proto.Unmarshal(b, m)
}
