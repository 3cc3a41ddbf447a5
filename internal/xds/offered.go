package xds

import (
	"sync"

	"cardea.dev/cardea/internal/resource"
)

// offers are what the proxies of a Gateway are offered in place of what the graph says: what they accepted before
// something was refused, and while it is found out what. As sends it has a lock of its own, since who asks may be in a
// View of the graph.
type offers struct {
	mu      sync.Mutex
	instead map[resource.Name]*version // nil: nothing is offered
}

// note keeps what is offered of a resource, if that is apart from what the graph says.
func (o *offers) note(e *entry, apart bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !apart:
		delete(o.instead, e.name)
	case o.instead == nil:
		o.instead = map[resource.Name]*version{e.name: e.offer}
	default:
		o.instead[e.name] = e.offer
	}
}

// Offered is what a Gateway's proxies are offered of a resource in place of what the graph says, nil if they are
// offered nothing; apart is false if they are offered what the graph says. It may be called in a View.
func (s *Server) Offered(key resource.Key) (instead *resource.Resource, apart bool) {
	kept, found := s.offers.Load(key.Gateway)
	if !found {
		return nil, false
	}
	o := kept.(*offers)
	o.mu.Lock()
	defer o.mu.Unlock()
	v, apart := o.instead[resource.Name{Type: key.Type, Name: key.Name}]
	if v == nil {
		return nil, apart
	}
	return &v.res, apart
}
