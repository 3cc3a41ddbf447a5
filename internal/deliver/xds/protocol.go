package xds

import (
	"errors"
	"slices"

	"cardea.dev/cardea/internal/core/resource"
)

// typeSpec is a dialect's TypeSpec, and which type it is about.
type typeSpec struct {
	resource.TypeSpec
	Type resource.Type
}

// protocol is a dialect's, with the types that the server itself speaks of.
type protocol struct {
	resource.Protocol
	specs             []typeSpec // by type
	listeners, tables resource.Type
}

// newProtocol needs a type that listens and one that routes.
func newProtocol(p resource.Protocol) (*protocol, error) {
	listeners, listens := p.Types.In(resource.Listening)
	tables, routes := p.Types.In(resource.Routing)
	if p.Trials == nil || p.Refusals == nil || !listens || !routes {
		return nil, errors.New("xds: a dialect's protocol is needed")
	}
	out := &protocol{Protocol: p, listeners: listeners, tables: tables}
	for i, spec := range p.Types {
		out.specs = append(out.specs, typeSpec{spec, resource.Type(i)})
	}
	return out, nil
}

func (p *protocol) spec(t resource.Type) *typeSpec { return &p.specs[t] }

func (p *protocol) isWildcard(t resource.Type) bool { return !p.specs[t].ByName }

func (p *protocol) specOfURL(url string) *typeSpec {
	i := slices.IndexFunc(p.specs, func(t typeSpec) bool { return t.URL == url })
	if i < 0 {
		return nil
	}
	return &p.specs[i]
}
