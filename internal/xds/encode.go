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
		bytes, err := proto.Marshal(contentless(r, name))
		if err != nil {
			return nil, err
		}
		m.Resources = append(m.Resources, &discoveryv3.Resource{
			Name: name, Version: placeholderVersion, Resource: &anypb.Any{TypeUrl: url, Value: bytes},
		})
	}
	return m, nil
}

// contentless is a resource that is there but empty: no endpoints, or a table that answers 404 to everything, or 503 while it is not
// known what will answer.
func contentless(r *response, name string) proto.Message {
	switch {
	case r.typ == resource.Routes && r.waiting:
		return &routev3.RouteConfiguration{Name: name, VirtualHosts: []*routev3.VirtualHost{{
			Name: "waiting", Domains: []string{"*"}, Routes: []*routev3.Route{{
				Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
				Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 503}},
			}},
		}}}
	case r.typ == resource.Routes:
		return &routev3.RouteConfiguration{Name: name}
	}
	return &endpointv3.ClusterLoadAssignment{ClusterName: name}
}
