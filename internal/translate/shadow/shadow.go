// Package shadow finds what rules of routes take from each other: requests that an earlier rule gets, preflights of
// browsers that another rule answers, and cookies by which two rules keep sessions.
//
// It owns these findings, and how few of them an edit changes. It must never know objects: it reads the plan. All of it
// runs inside transforms of package flow. Start reading at NewFindings.
package shadow

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/precedence"
	"cardea.dev/cardea/internal/translate/route"
)

// These findings are about rules that take no request, or none of some host, since an earlier rule takes all that they
// match. Nobody knows which of the two is right, and no condition of routes is for it: so they are warnings.
//
// A shadow is found where both rules have a site in one domain. A site of a wider domain never hides one of a narrower
// domain, for it comes after it; and where a domain's sites are copied into a narrower one, their order stays.

// shadowKey names what one domain says of one route.
type shadowKey struct {
	Domain model.DomainKey
	Route  model.ObjectRef
}

// Owner is the domain.
func (k shadowKey) Owner() model.DomainKey { return k.Domain }

// shadow is a site that takes no request, and the earlier one that takes all that it matches.
type shadow struct {
	Rule  string // its name
	Match int
	By    hidingRule
	Same  bool   // their matches are the same
	Why   string // this one comes later
}

// hidingRule is a rule by its place.
type hidingRule struct {
	Route model.ObjectRef
	Index int
}

type shadows = flow.Members[shadowKey, []shadow]

// NewFindings makes the findings about routes with rules that others hide. It costs nothing where each domain has
// one site, and looks at a domain again when sites of it come, go or move.
func NewFindings(p plan.Plan) *flow.Collection[model.ObjectRef, []model.Finding] {
	found := flow.Derive(p.Domains, "shadow", findShadows)
	routes := flow.Group(found, "shadows by route",
		func(k shadowKey, _ []shadow) []model.ObjectRef { return []model.ObjectRef{k.Route} }, flow.ByKey)
	return flow.Map(routes, "shadowed", func(c *flow.Ctx, ref model.ObjectRef, own shadows) ([]model.Finding, bool) {
		route, _ := flow.Fetch(c, p.Routes, ref)
		list := shadowedRules(ref, route, own)
		return list, len(list) > 0
	})
}

// findShadows looks for each site of a domain for the first earlier one that covers it.
func findShadows(_ *flow.Ctx, domain model.DomainKey, sites plan.RouteEntries, emit func(shadowKey, []shadow)) {
	if sites.Len() < 2 {
		return
	}
	earlier := earlierEntries{}
	var order []model.ObjectRef
	byRoute := map[model.ObjectRef][]shadow{}
	for k, s := range sites.All() {
		if by, found := earlier.findCovering(k, s); found {
			route := k.Rule.Route
			if byRoute[route] == nil {
				order = append(order, route)
			}
			byRoute[route] = append(byRoute[route], shadow{
				Rule: k.Rule.Name, Match: k.Match, By: hidingRule{by.key.Rule.Route, precedence.RuleIndex(by.entry.Order)},
				Same: s.Match.Covers(*by.entry.Match), Why: precedence.WhyLater(by.entry.Order, s.Order),
			})
		}
		earlier.addEntry(k, s)
	}
	for _, route := range order {
		emit(shadowKey{domain, route}, byRoute[route])
	}
}

// shadowedRules are the findings about one route.
func shadowedRules(ref model.ObjectRef, r model.Route, own shadows) (list []model.Finding) {
	for _, rule := range r.Rules {
		if route.IsUnread(rule) {
			continue
		}
		about := ruleShadows{rule: rule, carries: carriedBy(r)}
		about.collect(own)
		if message := about.describe(countDomains(r)); message != "" {
			list = append(list, model.Finding{
				Object: ref, Section: rule.Key.Name, Severity: model.Warning, Field: rule.FieldPath(),
				Message: message,
			})
		}
	}
	return list
}

// countDomains counts the domains where a route serves, at all listeners.
func countDomains(route model.Route) (n int) {
	for _, p := range route.Listeners {
		n += len(p.Domains)
	}
	return n
}

// ruleShadows is what is known of one rule.
type ruleShadows struct {
	rule      model.Rule
	carries   model.Carried // "": requests
	hidden    int           // sites
	by        []hider       // of these
	sameMatch []hider       // those of other routes that have the same host and match
}

// hider is a rule that comes before another one, and where.
type hider struct {
	rule  hidingRule
	same  bool
	why   string
	where []string
}

func (r *ruleShadows) collect(own shadows) {
	for k, list := range own.All() {
		for _, s := range list {
			if s.Rule != r.rule.Key.Name {
				continue
			}
			r.hidden++
			r.by = r.withHider(r.by, s, k.Domain)
			if s.Same && s.By.Route != r.rule.Key.Route {
				r.sameMatch = r.withHider(r.sameMatch, s, k.Domain)
			}
		}
	}
}

func (r *ruleShadows) withHider(list []hider, s shadow, at model.DomainKey) []hider {
	i := slices.IndexFunc(list, func(h hider) bool { return h.rule == s.By && h.same == s.Same && h.why == s.Why })
	if i < 0 {
		i, list = len(list), append(list, hider{rule: s.By, same: s.Same, why: s.Why})
	}
	where := "host " + at.Name
	if at.Name == model.EveryHost {
		where = "every host"
	}
	where += " of listener " + at.Listener.Section
	if at.Name == model.EveryHost && r.carries != "" {
		where = "listener " + at.Listener.Section
	}
	if len(r.rule.Matches) > 1 {
		where += fmt.Sprintf(" (matches[%d])", s.Match)
	}
	list[i].where = append(list[i].where, where)
	return list
}

// carriedBy is what connections of a route carry; "": it gets requests.
func carriedBy(r model.Route) model.Carried {
	if !r.IsForConnections() {
		return ""
	}
	return r.Listeners[0].Carries
}

// noun is what the rule takes.
func (r *ruleShadows) noun() string {
	switch r.carries {
	case "":
		return "request"
	case model.Datagrams:
		return "datagram"
	}
	return "connection"
}

// describe says what the rule does not get; "" if there is nothing to say.
func (r *ruleShadows) describe(places int) string {
	var all []string
	switch {
	case r.hidden > 0 && r.hidden == places*len(r.rule.Matches):
		for _, h := range r.by {
			all = append(all, r.describeHider(h))
		}
		return fmt.Sprintf("no %s reaches this rule: all go to %s", r.noun(), model.JoinSome(all))
	case len(r.sameMatch) > 0:
		for _, h := range r.sameMatch {
			all = append(all, model.JoinSome(h.where)+" go to "+r.describeHider(h))
		}
		return fmt.Sprintf("%ss for %s", r.noun(), model.JoinSome(all))
	}
	return ""
}

// describeHider names a rule that comes first, and why it does.
func (r *ruleShadows) describeHider(h hider) string {
	how := "which matches all its " + r.noun() + "s"
	switch {
	case h.same && r.carries == "":
		how = "which has the same host and match"
	case h.same:
		how = "which takes the same " + r.noun() + "s"
	}
	words := fmt.Sprintf("rules[%d]", h.rule.Index)
	if h.rule.Route != r.rule.Key.Route {
		words += " of " + h.rule.Route.String()
	}
	return fmt.Sprintf("%s, %s (this rule comes later: %s)", words, how, h.why)
}
