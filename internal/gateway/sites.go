package gateway

import (
	"slices"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
)

// places lists the listeners where a route serves, each once though two parentRefs may lead to it, with the domains that no more
// specific listener of the port takes: a request goes to the most specific listener and to no other (listener isolation). Nor does it serve
// a domain that a rival has.
func (refs references) places(c *flow.Ctx, route model.ObjectRef, a attachments) (list []model.Place, findings []model.Finding) {
	for _, parent := range a.Parents {
		lost := 0
		for _, l := range parent.Listeners {
			port, _ := flow.Fetch(c, refs.ports, l.Port)
			p := model.Place{Listener: l.Key, Gateway: parent.Gateway}
			for _, d := range l.Domains {
				switch rival, found := refs.rivals.of(c, route, model.DomainKey{Listener: l.Key, Name: d.Name}); {
				case found:
					findings = append(findings, rivalry(route, parent, d.Name, rival))
					lost++
				case serves(port, l.Key, d.Name):
					p.Domains = append(p.Domains, d)
				}
			}
			if len(p.Domains) > 0 && !slices.ContainsFunc(list, func(p model.Place) bool { return p.Listener == l.Key }) {
				list = append(list, p)
			}
		}
		if lost > 0 && lost == parent.domains() {
			for i := range findings[len(findings)-lost:] {
				findings[len(findings)-lost+i].Severity = model.Error
			}
		}
	}
	return list, findings
}

// serves tells whether a listener serves a domain: it can serve, and no more specific listener of the port takes the domain.
func serves(port model.Port, listener model.ListenerKey, domain string) bool {
	at := slices.IndexFunc(port.Listeners, func(l model.PortListener) bool { return l.Key == listener })
	if at < 0 || !port.Listeners[at].Serves {
		return false
	}
	own := model.HostnameDomain(port.Listeners[at].Hostname)
	return !slices.ContainsFunc(port.Listeners, func(l model.PortListener) bool {
		other := model.HostnameDomain(l.Hostname)
		return model.Covers(other, domain) && model.MoreSpecific(other, own)
	})
}

// sites makes a route's sites: every match of every rule, at every place and domain.
func sites(_ *flow.Ctx, ref model.ObjectRef, route model.Route, emit func(model.SiteKey, model.Site)) {
	age := ageOrder(route.Created)
	for i, rule := range route.Rules {
		for j, match := range rule.Matches {
			order := matchOrder(match)
			for _, p := range route.Places {
				for _, d := range p.Domains {
					emit(model.SiteKey{Rule: rule.Key, Match: j, Listener: p.Listener, Domain: d.Name},
						model.Site{Order: siteOrder(d.Original, order, age, ref, i, j)})
				}
			}
		}
	}
}
