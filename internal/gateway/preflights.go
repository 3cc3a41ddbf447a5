package gateway

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
)

// A rule with CORS that matches a method or headers answers the preflights of its requests behind all rules of its
// domain: who takes OPTIONS there gets them first. If CORS is another one for that rule, or none, browsers are told
// something else than the first rule states. Perhaps its backend answers preflights by itself, so these are warnings.

// preflights finds such rules. A collection may be nil: nothing is stated there.
type preflights struct {
	plan plan.Plan
	// listeners is the CORS that holds at listeners, unless something nearer states it.
	listeners *flow.Collection[model.ListenerKey, encodedCORS]
}

// encodedCORS is CORS as it is rendered, for comparison; "": none holds.
type encodedCORS string

// newLostPreflights makes the findings about rules whose preflights other rules take.
func newLostPreflights(p plan.Plan) *flow.Collection[model.ObjectRef, []model.Finding] {
	of := preflights{plan: p}
	of.listeners = flow.Map(p.Listeners, "listener/cors",
		func(c *flow.Ctx, k model.ListenerKey, l model.Listener) (encodedCORS, bool) {
			cors, stated := corsOf(fetched(c, p.Settings.Listeners, k))
			if !stated {
				cors, _ = corsOf(fetched(c, p.Settings.Gateways, l.Gateway))
			}
			return cors, cors != ""
		})
	lost := flow.Derive(p.Domains, "preflights", of.lost)
	routes := flow.Group(lost, "preflights by route",
		func(k shadowKey, _ []model.Finding) []model.ObjectRef { return []model.ObjectRef{k.Route} }, flow.ByKey)
	return flow.Map(routes, "lost preflights",
		func(_ *flow.Ctx, _ model.ObjectRef, own flow.Members[shadowKey, []model.Finding]) (list []model.Finding, _ bool) {
			for _, found := range own.All() {
				for _, f := range found { // each host tells the same
					if !slices.Contains(list, f) {
						list = append(list, f)
					}
				}
			}
			return list, true
		})
}

func fetched[K comparable, V any](c *flow.Ctx, from *flow.Collection[K, V], k K) (v V) {
	if from != nil {
		v, _ = flow.Fetch(c, from, k)
	}
	return v
}

// corsOf is what settings of a level state for CORS.
func corsOf(settings []plan.Setting) (cors encodedCORS, stated bool) {
	for _, s := range settings {
		if s.Slot == string(extend.SlotCORS) {
			cors, stated = encodedCORS(s.Config.Value), true
		}
	}
	return cors, stated
}

// at is the CORS that holds for a rule at a listener.
func (p preflights) at(c *flow.Ctx, rule model.Rule, listener model.ListenerKey) encodedCORS {
	settings := fetched(c, p.plan.Settings.Routes, rule.Key.Route)
	rules := settings.Rules
	for _, at := range settings.At {
		if at.Listener == listener {
			rules = at.Rules
		}
	}
	for _, own := range rules {
		if cors, stated := corsOf(own.Own); stated && own.Rule == rule.Key {
			return cors
		}
	}
	if filter := corsFilter(rule); filter != nil {
		return encodedCORS(extend.EncodeCORS(*filter))
	}
	if cors, stated := corsOf(settings.Own); stated {
		return cors
	}
	return fetched(c, p.listeners, listener)
}

// corsFilter is the CORS filter of a rule, or the first of its backends.
func corsFilter(r model.Rule) *model.CORS {
	if r.CORS != nil {
		return r.CORS
	}
	for _, b := range r.Backends {
		if b.Weight > 0 && b.Filters != nil && b.Filters.CORS != nil {
			return b.Filters.CORS
		}
	}
	return nil
}

// lost are the findings about one domain.
func (p preflights) lost(
	c *flow.Ctx, domain model.DomainKey, sites plan.Sites, emit func(shadowKey, []model.Finding),
) {
	var all earlierSites
	earlier := earlierSites{} // the preflights of earlier rules, which stand behind all sites
	var order []model.ObjectRef
	byRoute := map[model.ObjectRef][]model.Finding{}
	for k, s := range sites.All() {
		asks, apart := s.Match.Preflight()
		if !apart {
			continue
		}
		if all == nil {
			all = sitesByPath(sites)
		}
		rule := p.rule(c, k.Rule)
		cors := p.at(c, rule, domain.Listener)
		if cors == "" || rule.Error != 0 || rule.Redirect != nil || rule.Answers {
			continue
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
		taker := p.rule(c, by.key.Rule)
		other := p.at(c, taker, domain.Listener)
		if cors == other {
			continue
		}
		route := k.Rule.Route
		if byRoute[route] == nil {
			order = append(order, route)
		}
		byRoute[route] = append(byRoute[route], lostPreflight(rule, k.Match, taker, other, shared))
	}
	for _, route := range order {
		emit(shadowKey{domain, route}, byRoute[route])
	}
}

func sitesByPath(sites plan.Sites) earlierSites {
	all := earlierSites{}
	for k, s := range sites.All() {
		all.add(k, s)
	}
	return all
}

func (p preflights) rule(c *flow.Ctx, k model.RuleKey) (rule model.Rule) {
	route, _ := flow.Fetch(c, p.plan.Routes, k.Route)
	if i := slices.IndexFunc(route.Rules, func(r model.Rule) bool { return r.Key == k }); i >= 0 {
		rule = route.Rules[i]
	}
	return rule
}

// lostPreflight is about a match whose preflights another rule takes: as its own if shared, else as what it matches.
func lostPreflight(rule model.Rule, match int, taker model.Rule, other encodedCORS, shared bool) model.Finding {
	by := fmt.Sprintf("rules[%d]", taker.Index)
	if taker.Key.Route != rule.Key.Route {
		by += " of " + taker.Key.Route.String()
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
		Object: rule.Key.Route, Section: rule.Key.Name, Severity: model.Warning,
		Field: fmt.Sprintf("%s.matches[%d]", rule.Field(), match), Message: message,
	}
}
