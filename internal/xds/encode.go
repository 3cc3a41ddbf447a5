package xds

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/resource"
)

// encode makes the message; here a rope is flattened, and only here.
func encode(r *response) (*discoveryv3.DeltaDiscoveryResponse, error) {
	url := r.foreign
	if url == "" {
		url = r.typ.URL()
	}
	m := &discoveryv3.DeltaDiscoveryResponse{
		TypeUrl:          url,
		Nonce:            r.nonce,
		RemovedResources: r.removed,
		Resources:        make([]*discoveryv3.Resource, 0, len(r.items)+len(r.empty)),
		ControlPlane:     &corev3.ControlPlane{Identifier: "cardea"},
	}
	for _, s := range r.items {
		bytes := s.v.res.Flatten(make([]byte, 0, s.v.res.Size()))
		m.Resources = append(m.Resources, &discoveryv3.Resource{
			Name: s.name.Name, Version: s.v.res.Version, Resource: &anypb.Any{TypeUrl: url, Value: bytes},
		})
	}
	for _, name := range r.empty {
		bytes, err := proto.Marshal(contentless(r.typ, name))
		if err != nil {
			return nil, err
		}
		m.Resources = append(m.Resources, &discoveryv3.Resource{
			Name: name, Version: placeholderVersion, Resource: &anypb.Any{TypeUrl: url, Value: bytes},
		})
	}
	return m, nil
}

// contentless is a resource that is there but empty: no endpoints, or a table that answers 404 to everything.
func contentless(t resource.Type, name string) proto.Message {
	if t == resource.Routes {
		return &routev3.RouteConfiguration{Name: name}
	}
	return &endpointv3.ClusterLoadAssignment{ClusterName: name}
}
