package shadow

import (
	"fmt"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/precedence"
)

// A rule with CORS that matches a method or headers answers the preflights of its requests behind all rules of its
// domain: a rule that takes OPTIONS there gets them first. If that rule has other CORS settings, or none, browsers are
// told something else than the first rule states. Perhaps its backend answers preflights by itself, so these are
// warnings.

// preflightFinder finds such rules.
type preflightFinder struct {
	routes   *flow.Collection[model.ObjectRef, browserNeeds]
	settings *flow.Collection[model.ObjectRef, plan.RouteSettings]
	// listeners is the CORS that holds at listeners, unless something nearer states it.
	listeners *flow.Collection[model.ListenerKey, *model.CORS]
}

// NewLostPreflights makes the findings about rules that lose their preflights to other rules. It looks at a domain
// again when sites of it come, go or move, and when the CORS settings of a rule with preflights change.
func NewLostPreflights(
	p plan.Plan, routes *flow.Collection[model.ObjectRef, browserNeeds],
) *flow.Collection[model.ObjectRef, []model.Finding] {
	of := preflightFinder{routes: routes, settings: p.Settings.Routes}
	of.listeners = flow.Map(p.Listeners, "listener/cors",
		func(c *flow.Ctx, k model.ListenerKey, l model.Listener) (*model.CORS, bool) {
			cors, stated := corsOf(fetchOrZero(c, p.Settings.Listeners, k))
			if !stated {
				cors, _ = corsOf(fetchOrZero(c, p.Settings.Gateways, l.Gateway))
			}
			return cors, cors != nil
		})
	return groupByRoute(flow.Derive(p.Domains, "preflights", of.findLost), "lost preflights")
}

// domainCORS is what is known of the rules of a domain.
type domainCORS struct {
	preflightFinder
	listener   model.ListenerKey
	rules      map[model.RuleKey]ruleCORS
	readRoutes map[model.ObjectRef]bool // routes that have their rules here
	// concerned are those of them that are in preflights.routes.
	concerned map[model.ObjectRef]bool
}

// corsOfRule is what is stated for a rule, with the CORS that holds for it.
func (s *domainCORS) corsOfRule(c *flow.Ctx, k model.RuleKey) ruleCORS {
	if !s.readRoutes[k.Route] {
		s.readRoutes[k.Route] = true
		if at, concerned := flow.Fetch(c, s.routes, k.Route); concerned {
			for _, own := range at.CORS {
				s.rules[model.RuleKey{Route: k.Route, Name: own.Rule}] = own
			}
			s.concerned[k.Route] = true
		}
	}
	own := s.rules[k]
	if !s.concerned[k.Route] { // only policies state CORS for it
		for _, stated := range corsOfRules([]model.Rule{{Key: k}}, fetchOrZero(c, s.settings, k.Route)) {
			own = stated
		}
	}
	for _, at := range own.At {
		if at.Listener == s.listener {
			own.statedCORS = at.statedCORS
		}
	}
	if !own.Stated {
		own.CORS = fetchOrZero(c, s.listeners, s.listener)
	}
	return own
}

// findLost are the findings about one domain.
func (p preflightFinder) findLost(
	c *flow.Ctx, domain model.DomainKey, sites plan.RouteEntries, emit func(conflictKey[model.DomainKey], []model.Finding),
) {
	rules := domainCORS{preflightFinder: p, listener: domain.Listener,
		rules: map[model.RuleKey]ruleCORS{}, readRoutes: map[model.ObjectRef]bool{}, concerned: map[model.ObjectRef]bool{}}
	var all earlierEntries
	earlier := earlierEntries{} // the preflights of earlier rules, which stand behind all sites
	var order []model.ObjectRef
	byRoute := map[model.ObjectRef][]model.Finding{}
	for k, s := range sites.All() {
		asks, apart := s.Match.PreflightMatch()
		if !apart {
			continue
		}
		own := rules.corsOfRule(c, k.Rule)
		if own.CORS == nil || own.Answers {
			continue
		}
		if all == nil {
			all = entriesByPath(sites)
		}
		preflight := model.RouteEntry{Match: &asks, Order: s.Order}
		by, taken := all.findCovering(model.RouteEntryKey{}, preflight)
		shared := false
		if !taken {
			by, shared = earlier.findCovering(k, preflight)
			earlier.addEntry(k, preflight)
		}
		if !taken && !shared || by.key.Rule == k.Rule || taken && by.entry.Match.Method != "" {
			continue // who matches OPTIONS does so on purpose
		}
		other := rules.corsOfRule(c, by.key.Rule).CORS
		if other.Equal(own.CORS) {
			continue
		}
		route := k.Rule.Route
		if byRoute[route] == nil {
			order = append(order, route)
		}
		byRoute[route] = append(byRoute[route], lostPreflight(k, s, by, other, shared))
	}
	for _, route := range order {
		emit(conflictKey[model.DomainKey]{domain, route}, byRoute[route])
	}
}

func entriesByPath(sites plan.RouteEntries) earlierEntries {
	all := earlierEntries{}
	for k, s := range sites.All() {
		all.addEntry(k, s)
	}
	return all
}

// lostPreflight is about a match that loses its preflights to another rule: as preflights of its own if shared, else as
// requests that it matches.
func lostPreflight(
	k model.RouteEntryKey, s model.RouteEntry, taker earlierEntry, other *model.CORS, shared bool,
) model.Finding {
	by := fmt.Sprintf("rules[%d]", precedence.RuleIndex(taker.entry.Order))
	if taker.key.Rule.Route != k.Rule.Route {
		by += " of " + taker.key.Rule.Route.String()
	}
	states := "has no CORS"
	if other != nil {
		states = "has other CORS settings"
	}
	message := fmt.Sprintf("CORS preflights of these requests go to %s, which matches OPTIONS there and %s; state the "+
		"same CORS for it, or a method other than OPTIONS", by, states)
	if shared {
		message = fmt.Sprintf("CORS preflights of these requests are answered by %s, which comes first and %s: a "+
			"preflight does not have the headers that differ; state the same CORS for both, or different paths", by, states)
	}
	return model.Finding{
		Object: k.Rule.Route, Section: k.Rule.Name, Severity: model.Warning,
		Field: fmt.Sprintf("spec.rules[%d].matches[%d]", precedence.RuleIndex(s.Order), k.Match), Message: message,
	}
}
