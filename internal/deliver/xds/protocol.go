package xds

import (
	"slices"

	"cardea.dev/cardea/internal/core/resource"
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
