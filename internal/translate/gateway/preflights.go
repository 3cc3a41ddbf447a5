package gateway

import (
	"fmt"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// A rule with CORS that matches a method or headers answers the preflights of its requests behind all rules of its
// domain: a rule that takes OPTIONS there gets them first. If that rule has other CORS settings, or none, browsers are
// told something else than the first rule states. Perhaps its backend answers preflights by itself, so these are
// warnings.

// preflights finds such rules.
type preflights struct {
	routes   *flow.Collection[model.ObjectRef, atBrowsers]
	settings *flow.Collection[model.ObjectRef, plan.RouteSettings]
	// listeners is the CORS that holds at listeners, unless something nearer states it.
	listeners *flow.Collection[model.ListenerKey, encodedCORS]
}

// newLostPreflights makes the findings about rules that lose their preflights to other rules. It looks at a domain
// again when sites of it come, go or move, and when the CORS settings of a rule with preflights change.
func newLostPreflights(
	p plan.Plan, routes *flow.Collection[model.ObjectRef, atBrowsers],
) *flow.Collection[model.ObjectRef, []model.Finding] {
	of := preflights{routes: routes, settings: p.Settings.Routes}
	of.listeners = flow.Map(p.Listeners, "listener/cors",
		func(c *flow.Ctx, k model.ListenerKey, l model.Listener) (encodedCORS, bool) {
			cors, stated := corsOf(fetched(c, p.Settings.Listeners, k))
			if !stated {
				cors, _ = corsOf(fetched(c, p.Settings.Gateways, l.Gateway))
			}
			return cors, cors != ""
		})
	return byRoute(flow.Derive(p.Domains, "preflights", of.lost), "lost preflights")
}

// stated is what is known of the rules of a domain.
type stated struct {
	preflights
	listener model.ListenerKey
	rules    map[model.RuleKey]ruleCORS
	read     map[model.ObjectRef]bool // routes that have their rules here
	// concerned are those of them that are in preflights.routes.
	concerned map[model.ObjectRef]bool
}

// of is what is stated for a rule, with the CORS that holds for it.
func (s *stated) of(c *flow.Ctx, k model.RuleKey) ruleCORS {
	if !s.read[k.Route] {
		s.read[k.Route] = true
		if at, concerned := flow.Fetch(c, s.routes, k.Route); concerned {
			for _, own := range at.CORS {
				s.rules[model.RuleKey{Route: k.Route, Name: own.Rule}] = own
			}
			s.concerned[k.Route] = true
		}
	}
	own := s.rules[k]
	if !s.concerned[k.Route] { // only policies state CORS for it
		for _, stated := range corsOfRules([]model.Rule{{Key: k}}, fetched(c, s.settings, k.Route)) {
			own = stated
		}
	}
	for _, at := range own.At {
		if at.Listener == s.listener {
			own.statedCORS = at.statedCORS
		}
	}
	if !own.Stated {
		own.CORS = fetched(c, s.listeners, s.listener)
	}
	return own
}

// lost are the findings about one domain.
func (p preflights) lost(
	c *flow.Ctx, domain model.DomainKey, sites plan.Sites, emit func(spoiled[model.DomainKey], []model.Finding),
) {
	rules := stated{preflights: p, listener: domain.Listener,
		rules: map[model.RuleKey]ruleCORS{}, read: map[model.ObjectRef]bool{}, concerned: map[model.ObjectRef]bool{}}
	var all earlierSites
	earlier := earlierSites{} // the preflights of earlier rules, which stand behind all sites
	var order []model.ObjectRef
	byRoute := map[model.ObjectRef][]model.Finding{}
	for k, s := range sites.All() {
		asks, apart := s.Match.Preflight()
		if !apart {
			continue
		}
		own := rules.of(c, k.Rule)
		if own.CORS == "" || own.Answers {
			continue
		}
		if all == nil {
			all = sitesByPath(sites)
		}
		preflight := model.Site{Match: &asks, Order: s.Order}
		by, taken := all.covering(model.SiteKey{}, preflight)
		shared := false
		if !taken {
			by, shared = earlier.covering(k, preflight)
			earlier.add(k, preflight)
		}
		if !taken && !shared || by.key.Rule == k.Rule || taken && by.site.Match.Method != "" {
			continue // who matches OPTIONS does so on purpose
		}
		other := rules.of(c, by.key.Rule).CORS
		if other == own.CORS {
			continue
		}
		route := k.Rule.Route
		if byRoute[route] == nil {
			order = append(order, route)
		}
		byRoute[route] = append(byRoute[route], lostPreflight(k, s, by, other, shared))
	}
	for _, route := range order {
		emit(spoiled[model.DomainKey]{domain, route}, byRoute[route])
	}
}

func sitesByPath(sites plan.Sites) earlierSites {
	all := earlierSites{}
	for k, s := range sites.All() {
		all.add(k, s)
	}
	return all
}

// lostPreflight is about a match that loses its preflights to another rule: as preflights of its own if shared, else as
// requests that it matches.
func lostPreflight(k model.SiteKey, s model.Site, taker earlierSite, other encodedCORS, shared bool) model.Finding {
	by := fmt.Sprintf("rules[%d]", ruleIndex(taker.site.Order))
	if taker.key.Rule.Route != k.Rule.Route {
		by += " of " + taker.key.Rule.Route.String()
	}
	states := "has no CORS"
	if other != "" {
		states = "has other CORS settings"
	}
	message := fmt.Sprintf("CORS preflights of these requests go to %s, which takes OPTIONS there and %s; state the "+
		"same CORS for it, or a method other than OPTIONS", by, states)
	if shared {
		message = fmt.Sprintf("CORS preflights of these requests are answered by %s, which comes first and %s: a preflight "+
			"has no headers by which the two differ; state the same CORS for both, or different paths", by, states)
	}
	return model.Finding{
		Object: k.Rule.Route, Section: k.Rule.Name, Severity: model.Warning,
		Field: fmt.Sprintf("spec.rules[%d].matches[%d]", ruleIndex(s.Order), k.Match), Message: message,
	}
}
