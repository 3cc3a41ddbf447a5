package envoy

import (
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resource"
)

// ruleStandings tells of each rule at each Gateway whether what it is now was acknowledged at every place. One rule's
// acknowledgement runs that rule only.
func (s stages) ruleStandings(p plan.Plan) *flow.Collection[resource.StandingKey, resource.Standing] {
	// A domain that a more specific listener takes has no virtual host. Only that it has one matters here, not its sites.
	placed := flow.Map(p.Domains, "envoy/placed-domains", func(*flow.Ctx, model.DomainKey, plan.Domain) (struct{}, bool) {
		return struct{}{}, true
	})
	sites := flow.Group(p.Sites, "envoy/sites-by-rule", func(k model.SiteKey, site model.Site) []resource.StandingKey {
		return []resource.StandingKey{{Gateway: site.Port.Gateway, Origin: ruleOrigin(k.Rule)}}
	}, byKey)
	return flow.Map(sites, "envoy/rule-standings", func(c *flow.Ctx, k resource.StandingKey, sites plan.Sites) (resource.Standing, bool) {
		first, _ := sites.At(0)
		f, ok := flow.Fetch(c, s.fragments, first.Rule)
		if !ok {
			return resource.Standing{}, false
		}
		standing := resource.Standing{Acknowledged: true}
		var seen seenPlaces
		for site := range sites.All() {
			h, ok := flow.Fetch(c, s.homes, site.Listener)
			if !ok {
				continue
			}
			if _, ok := flow.Fetch(c, placed, model.DomainKey{Listener: site.Listener, Name: site.Domain}); !ok {
				continue
			}
			if content := f.at(first.Rule, h.Place); seen.first(h) {
				standing.Serves = true
				s.judge(c, &standing, h.Table, content)
			}
		}
		return standing, true
	})
}

// judge adds to a standing what proxies said of content in a resource.
func (s stages) judge(c *flow.Ctx, standing *resource.Standing, in resource.Key, content resource.Fragment) {
	hash, ok := flow.Fetch(c, s.acked, resource.AckKey{Resource: in, Origin: content.Origin, Variant: content.Variant})
	if !ok || hash != content.Hash {
		standing.Acknowledged = false
	}
	if refusal, ok := flow.Fetch(c, s.refused, refusalKey(in.Gateway, content)); ok && standing.Refused == "" {
		standing.Acknowledged, standing.Refused = false, refusal.Message
	}
}

// judgeSecret adds what proxies said of a Secret that a listener needs. One that was acknowledged goes on serving while the
// next one is on its way: a rotation takes nothing back.
func (s stages) judgeSecret(c *flow.Ctx, standing *resource.Standing, sds *flow.Collection[resource.Key, resource.Resource], key resource.Key) {
	secret, _ := flow.Fetch(c, sds, key)
	for _, part := range secret.Parts {
		for _, content := range part.Fragments {
			if _, ok := flow.Fetch(c, s.acked, resource.AckKey{Resource: key, Origin: content.Origin, Variant: content.Variant}); !ok {
				standing.Acknowledged = false
			}
			if refusal, ok := flow.Fetch(c, s.refused, refusalKey(key.Gateway, content)); ok && standing.Refused == "" {
				standing.Acknowledged, standing.Refused = false, refusal.Message
			}
		}
	}
}

// seenPlaces remembers places; most rules have one.
type seenPlaces []home

func (s *seenPlaces) first(h home) bool {
	for _, o := range *s {
		if o == h {
			return false
		}
	}
	*s = append(*s, h)
	return true
}

// listenerStandings tells the same of each listener, its Listener resources (one for each address) and the Secrets that these need.
func (s stages) listenerStandings(p plan.Plan, lds, sds *flow.Collection[resource.Key, resource.Resource]) *flow.Collection[resource.StandingKey, resource.Standing] {
	keyed := flow.Group(p.Listeners, "envoy/listeners-by-origin", func(k model.ListenerKey, l model.Listener) []resource.StandingKey {
		return []resource.StandingKey{{Gateway: l.Gateway, Origin: listenerOrigin(k)}}
	}, byKey)
	return flow.Map(keyed, "envoy/listener-standings",
		func(c *flow.Ctx, k resource.StandingKey, members flow.Members[model.ListenerKey, model.Listener]) (resource.Standing, bool) {
			_, l := members.At(0)
			port, ok := flow.Fetch(c, p.Ports, l.Port)
			standing := resource.Standing{Acknowledged: ok}
			shared := resource.Origin{Object: l.Gateway}
			for _, in := range listenerKeys(port) {
				r, ok := flow.Fetch(c, lds, in)
				standing.Acknowledged = standing.Acknowledged && ok
				for _, part := range r.Parts {
					for _, content := range part.Fragments {
						if content.Origin == k.Origin || content.Origin == shared {
							s.judge(c, &standing, in, content)
						}
					}
				}
			}
			for _, ref := range l.Certificates {
				s.judgeSecret(c, &standing, sds, secretKey(l.Gateway, ref))
			}
			return standing, true
		})
}
