package gateway

import (
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resolve"
)

// sitesOf makes a route's sites: every match of every rule, at every listener and domain that takes the route.
func sitesOf(routes *flow.Collection[model.ObjectRef, routeView]) func(*flow.Ctx, model.ObjectRef, attachments, func(model.SiteKey, model.Site)) {
	return func(c *flow.Ctx, ref model.ObjectRef, a attachments, emit func(model.SiteKey, model.Site)) {
		route, _ := flow.Fetch(c, routes, ref)
		seen := map[model.ListenerKey]bool{} // two parentRefs may lead to one listener
		for _, parent := range a.Parents {
			for _, p := range parent.Places {
				if seen[p.Listener] || !p.Valid {
					continue
				}
				seen[p.Listener] = true
				for _, d := range p.Domains {
					emitSites(ref, route, p, d, emit)
				}
			}
		}
	}
}

func emitSites(ref model.ObjectRef, route routeView, p place, d resolve.Domain, emit func(model.SiteKey, model.Site)) {
	age := ageOrder(route.Created)
	for i, rule := range route.Rules {
		for j, match := range rule.Orders {
			emit(model.SiteKey{Rule: model.RuleKey{Route: ref, Name: rule.Name}, Match: j, Listener: p.Listener, Domain: d.Name},
				model.Site{Port: p.Port, Order: siteOrder(d.Original, match, age, ref, i, j)})
		}
	}
}

// domainOf joins a domain's sites with those of the wider domains of its listener. A domain that a more specific listener
// of the port takes is left out: a request goes to the most specific listener and to no other (listener isolation).
func domainOf(byDomain *flow.Collection[model.DomainKey, plan.Sites], ports *flow.Collection[model.PortKey, model.Port]) func(*flow.Ctx, model.DomainKey, plan.Sites) (plan.Domain, bool) {
	return func(c *flow.Ctx, key model.DomainKey, own plan.Sites) (plan.Domain, bool) {
		_, first := own.At(0)
		port, _ := flow.Fetch(c, ports, first.Port)
		hostname, serves := listenerFor(port, key)
		if !serves {
			return plan.Domain{}, false
		}
		d := plan.Domain{Port: first.Port, Own: own}
		for _, name := range resolve.Wider(key.Name, hostname) {
			if wider, ok := flow.Fetch(c, byDomain, model.DomainKey{Listener: key.Listener, Name: name}); ok {
				d.Wider = append(d.Wider, wider)
			}
		}
		return d, true
	}
}

// listenerFor finds the hostname of the domain's listener; false if that can't serve, or a more specific one of the
// port takes the domain.
func listenerFor(port model.Port, key model.DomainKey) (hostname string, serves bool) {
	for _, l := range port.Listeners {
		if l.Key == key.Listener {
			hostname, serves = l.Hostname, l.Serves
		}
	}
	for _, l := range port.Listeners {
		if l.Key != key.Listener && resolve.Covers(domain(l.Hostname), key.Name) && resolve.MoreSpecific(domain(l.Hostname), domain(hostname)) {
			return hostname, false
		}
	}
	return hostname, serves
}
