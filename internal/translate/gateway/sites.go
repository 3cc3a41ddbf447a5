package gateway

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/precedence"
	"cardea.dev/cardea/internal/translate/route"
	"cardea.dev/cardea/internal/translate/shadow"
)

// routeReader reads routes: where they serve, and what they state.
type routeReader struct {
	rules  route.Reader
	owners hostnameOwners
	ports  *flow.Collection[model.PortKey, model.Port]
}

// readRoute reads a route that names a Gateway of this controller.
func (in routeReader) readRoute(c *flow.Ctx, ref model.ObjectRef, a attachments) (model.Route, bool) {
	if len(a.Parents) == 0 {
		return model.Route{}, false
	}
	o, found := flow.FetchProjected(c, in.rules.Sources.KindSource(ref.Kind()).Objects(), ref)
	if !found {
		return model.Route{}, false
	}
	r := model.Route{Created: a.Created, Gateways: a.attachedGateways()}
	r.Listeners, r.Findings = in.routeListeners(c, ref, a)
	in.rules.Read(c, ref, o, &r)
	return r, true
}

// routeListeners lists the listeners where a route serves, each once though two parentRefs may lead to it, with the
// domains that no more specific listener of the port takes: a request goes to the most specific listener and to no
// other (listener isolation). Nor does it serve a domain that a rival has.
func (in routeReader) routeListeners(
	c *flow.Ctx, route model.ObjectRef, a attachments,
) (list []model.RouteListener, findings []model.Finding) {
	var isolated []model.Finding
	for _, parent := range a.Parents {
		lost := 0
		for _, l := range parent.Listeners {
			port, _ := flow.Fetch(c, in.ports, l.Port)
			p := model.RouteListener{Listener: l.Key, Gateway: parent.Gateway.Ref, Carries: l.Carries}
			for _, d := range l.Domains {
				taker, found := winningListener(port, l.Key, d.Name)
				switch rival, lose := in.owners.conflictingOwner(c, route, model.DomainKey{Listener: l.Key, Name: d.Name}); {
				case lose:
					findings = append(findings, conflictFinding(route, parent, d.Name, rival))
					lost++
				case !found:
				case taker.Key == l.Key && taker.Serves:
					p.Domains = append(p.Domains, d)
				case !a.hasListener(taker.Key): // if it is attached there, what it does not get there is said of that listener
					isolated = append(isolated, isolationFinding(route, parent, l.Port.Number, d.Name, taker.Key))
				}
			}
			if len(p.Domains) > 0 && !slices.ContainsFunc(list,
				func(p model.RouteListener) bool { return p.Listener == l.Key }) {
				list = append(list, p)
			}
		}
		if lost > 0 && lost == parent.countDomains() {
			for i := range findings[len(findings)-lost:] {
				findings[len(findings)-lost+i].Severity = model.Error
			}
		}
	}
	return list, append(findings, isolated...)
}

// winningListener is the listener of a port that gets a domain which one of them shares with a route: that one, or a
// more specific one that covers it.
func winningListener(port model.Port, listener model.ListenerKey, domain string) (most model.PortListener, found bool) {
	at := slices.IndexFunc(port.Listeners, func(l model.PortListener) bool { return l.Key == listener })
	if at < 0 {
		return most, false
	}
	most = port.Listeners[at]
	for _, l := range port.Listeners {
		other := model.HostnameDomain(l.Hostname)
		if model.DomainCovers(other, domain) && model.MoreSpecific(other, model.HostnameDomain(most.Hostname)) {
			most = l
		}
	}
	return most, true
}

// isolationFinding says that a route does not get a domain at a listener that it is attached to.
func isolationFinding(
	route model.ObjectRef, parent attachment, port int32, domain string, taker model.ListenerKey,
) model.Finding {
	return model.Finding{
		Object: route, Parent: parent.Parent, Severity: model.Warning, Condition: "Accepted", Reason: "ListenerIsolation",
		Field: fmt.Sprintf("spec.parentRefs[%d]", parent.Index),
		Message: fmt.Sprintf("host %s of port %d goes to listener %s, which is more specific; attach the route to that "+
			"one, if its allowedRoutes permit",
			domain, port, taker.Section),
	}
}

// emitRouteEntries makes a route's sites: every match of every rule, at every place and domain.
func emitRouteEntries(
	_ *flow.Ctx, ref model.ObjectRef, route model.Route, emit func(model.RouteEntryKey, model.RouteEntry),
) {
	age := precedence.AgeOrder(route.Created)
	for _, rule := range route.Rules {
		concerned := shadow.ConcernsBrowsers(rule)
		for j := range rule.Matches {
			match := &rule.Matches[j]
			order := precedence.MatchOrder(*match)
			for _, p := range route.Listeners {
				for _, d := range p.Domains {
					emit(model.RouteEntryKey{Rule: rule.Key, Match: j, Listener: p.Listener, Domain: d.Name},
						model.RouteEntry{Order: precedence.EntryOrder(d.Original, order, age, ref, rule.Index, j), Match: match,
							Browsers: concerned})
				}
			}
		}
	}
}
