package envoy

import (
	"bytes"
	"encoding/json"
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/core/resource"
)

// describe prints a resource as JSON, the same for the same resource. Secrets are left out.
func describe(t resource.Type, r resource.Resource) ([]byte, error) {
	m, err := Message(t)
	if err != nil {
		return nil, err
	}
	if err := proto.Unmarshal(r.Flatten(nil), m); err != nil {
		return nil, fmt.Errorf("read %s: %w", t, err)
	}
	if table, ok := m.(*routev3.RouteConfiguration); ok {
		hideHeaders(table, untold)
	}
	redact(m.ProtoReflect(), untold)
	return JSON(m)
}

// untold is for callers that do not need the texts that were left out.
func untold(string) {}

// Message is an empty message of a type of resource.
func Message(t resource.Type) (proto.Message, error) {
	switch t {
	case resource.Cluster:
		return new(clusterv3.Cluster), nil
	case resource.Endpoints:
		return new(endpointv3.ClusterLoadAssignment), nil
	case resource.Secret:
		return new(tlsv3.Secret), nil
	case resource.Listener:
		return new(listenerv3.Listener), nil
	case resource.Routes:
		return new(routev3.RouteConfiguration), nil
	case resource.Extension:
		return new(corev3.TypedExtensionConfig), nil
	}
	return nil, fmt.Errorf("resource type %d is unknown", t)
}

// JSON prints a message with the field names of the protos. protojson puts in spaces at random; they are taken out.
func JSON(m proto.Message) ([]byte, error) {
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
