package xds

import (
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/resource"
)

// protocol is a dialect's, with its types by their numbers and their URLs.
type protocol struct {
	resource.Protocol
	specs [resource.TypeCount]*resource.TypeSpec
}

func newProtocol(p resource.Protocol) *protocol {
	out := &protocol{Protocol: p}
	for i := range p.Types {
		out.specs[p.Types[i].Type] = &p.Types[i]
	}
	return out
}

func (p *protocol) spec(t resource.Type) *resource.TypeSpec { return p.specs[t] }

func (p *protocol) wildcard(t resource.Type) bool { return !p.specs[t].ByName }

func (p *protocol) ofURL(url string) *resource.TypeSpec {
	i := slices.IndexFunc(p.Types, func(t resource.TypeSpec) bool { return t.URL == url })
	if i < 0 {
		return nil
	}
	return &p.Types[i]
}

// encode makes the message; here a rope is flattened, and only here.
func (p *protocol) encode(r *response) *discoveryv3.DeltaDiscoveryResponse {
	url := r.foreign
	if url == "" {
		url = p.spec(r.typ).URL
	}
	m := &discoveryv3.DeltaDiscoveryResponse{
		TypeUrl:          url,
		Nonce:            r.nonce,
		RemovedResources: r.removed,
		Resources:        make([]*discoveryv3.Resource, 0, len(r.items)+len(r.empty)),
		ControlPlane:     &corev3.ControlPlane{Identifier: "cardea"},
	}
	add := func(name, version string, bytes []byte) {
		m.Resources = append(m.Resources, &discoveryv3.Resource{
			Name: name, Version: version, Resource: &anypb.Any{TypeUrl: url, Value: bytes},
		})
	}
	for _, s := range r.items {
		add(s.name.Name, s.v.res.Version, s.v.res.Flatten(make([]byte, 0, s.v.res.Size())))
	}
	for _, name := range r.empty {
		add(name, placeholderVersion, p.spec(r.typ).Placeholder(name, r.pending))
	}
	return m
}
