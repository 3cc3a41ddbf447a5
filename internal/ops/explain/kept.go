package explain

import (
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/core/resource"
)

// findRendered finds a resource as the objects say.
func (q *inquiry) findRendered(key resource.Key) (resource.Resource, bool) {
	return q.world.Outputs.Find(q.view, key)
}

// findOffered finds a resource as proxies are offered it: what was rendered, or what they accepted before something of
// that was refused.
func (q *inquiry) findOffered(key resource.Key) (resource.Resource, bool) {
	if instead, apart := q.offeredInstead(key); !apart {
		return q.findRendered(key)
	} else if instead != nil {
		return *instead, true
	}
	return resource.Resource{}, false
}

// offeredInstead is what proxies are offered in place of what was rendered, nil if nothing; apart is false if they are
// offered that.
func (q *inquiry) offeredInstead(key resource.Key) (instead *resource.Resource, apart bool) {
	if q.config.Offered == nil {
		return nil, false
	}
	return q.config.Offered(key)
}

// keepsAccepted tells whether proxies keep something that they accepted before in place of a fragment of a part.
func (q *inquiry) keepsAccepted(in resource.Key, part string, f resource.Fragment) bool {
	instead, _ := q.offeredInstead(in)
	if instead == nil {
		return false
	}
	return slices.ContainsFunc(instead.Parts, func(p *resource.Part) bool {
		return p.ID == part && slices.ContainsFunc(p.Fragments, func(old resource.Fragment) bool {
			return old.Origin == f.Origin && old.Variant == f.Variant && !old.Refused && (f.Refused || old.Hash != f.Hash)
		})
	})
}

// keepsListener tells it of a listener: of its filter chain, or of a certificate of that.
func (q *inquiry) keepsListener(w *gatewayCandidate, origin resource.Origin) bool {
	for _, key := range w.listeners {
		r, _ := q.findRendered(key)
		for _, p := range r.Parts {
			for _, f := range p.Fragments {
				if f.Origin != origin {
					continue
				}
				if q.keepsAccepted(key, p.ID, f) || slices.ContainsFunc(p.Needs, func(n resource.Name) bool {
					instead, _ := q.offeredInstead(resource.Key{Gateway: key.Gateway, Type: n.Type, Name: n.Name})
					return instead != nil && q.world.TypesOf(q.view, key.Gateway).Has(n.Type, resource.Certificate)
				}) {
					return true
				}
			}
		}
	}
	return false
}

// refusedBackend adds the refusals of backends that a rule sends requests, or copies of them, to.
func (q *inquiry) refusedBackend(l *LiveState, w *gatewayCandidate, rule model.RuleKey, outcomes []request.Outcome) {
	for _, o := range outcomes {
		backends := []model.BackendKey{o.Backend}
		for _, m := range o.Mirrors {
			backends = append(backends, m.Backend)
		}
		for _, b := range backends {
			if o.Rule != rule || b == (model.BackendKey{}) || l.Refused != "" {
				continue
			}
			gateway := w.port.Key.Gateway
			at := w.dialect.BackendResource(plan.BackendKey{Gateway: gateway, Backend: b})
			if said, refused := q.refusalOf(at); refused {
				l.Acknowledged, l.Since, l.Refused = false, nil, b.Object.String()+": "+said.Message
				instead, _ := q.offeredInstead(resource.Key{Gateway: gateway, Type: said.Type, Name: said.Name})
				l.Kept = instead != nil
			}
		}
	}
}

// refusalOf is what a proxy said of a backend, by its resource.
func (q *inquiry) refusalOf(backend resource.Key) (resource.Refusal, bool) {
	r, _ := q.findRendered(backend)
	for _, p := range r.Parts {
		for _, f := range p.Fragments {
			key := resource.AckStateKey{Gateway: backend.Gateway, Origin: f.Origin}
			if said, found := flow.Get(q.view, q.world.Outputs.RefusedBackends, key); found {
				return said, true
			}
		}
	}
	return resource.Refusal{}, false
}
