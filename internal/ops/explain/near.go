package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/translate/gateway"
)

// nearest is how many near misses are shown.
const nearest = 5

// near finds the rules of the request's host that a user might expect to take it: those that would have taken it, too,
// and those that miss only one condition. A rule is listed once, with its nearest match.
func (q *asked) near(w *way, l model.PortListener) []Near {
	var winner request.Tried
	if first := slices.IndexFunc(w.tried, func(t request.Tried) bool { return len(t.Misses) == 0 }); first >= 0 {
		winner = w.tried[first]
	}
	var list []request.Tried
	for _, t := range w.tried {
		if t.Rule != (model.RuleKey{}) && t.Rule != winner.Rule && len(t.Misses) <= 1 {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b request.Tried) int { return cmp.Compare(distance(a), distance(b)) })
	var near []Near
	told := map[model.RuleKey]bool{}
	for _, t := range list {
		if len(near) == nearest || told[t.Rule] {
			continue
		}
		told[t.Rule] = true
		place, found := q.place(t.Rule)
		if !found {
			continue
		}
		at := t.Match.IndexIn(place.rule)
		miss := Near{Object: t.Rule.Route.String(), Rule: t.Rule.Name, Match: takes(place.rule, at, t.Match)}
		miss.Where = q.locate(t.Rule.Route, matchField(place.rule, at))
		switch {
		case at >= 0 && place.rule.Matches[at].Path.Type == model.PathNone:
			miss.Why = place.rule.Matches[at].Path.Value + ", so it takes no request"
		case len(t.Misses) > 0:
			miss.Why = t.Misses[0]
		case q.isPreflight(winner):
			miss.Why = "it matches, too; preflights of an earlier rule come first: " + q.behind(w, l.Key, winner, t)
		case t.Match.IsPreflight(place.rule):
			miss.Why = "it matches, too; what rules match themselves comes before preflights"
		default:
			miss.Why = "it matches, too; " + q.behind(w, l.Key, winner, t)
		}
		near = append(near, miss)
	}
	return near
}

// isPreflight tells whether a route takes the CORS preflights of its rule's requests, not these themselves.
func (q *asked) isPreflight(t request.Tried) bool {
	place, found := q.place(t.Rule)
	return found && t.Match.IsPreflight(place.rule)
}

// distance sorts routes that did not take the request: what matches, what misses a header or the like, what misses the
// path.
func distance(t request.Tried) int {
	switch {
	case len(t.Misses) == 0:
		return 0
	case strings.HasPrefix(t.Misses[0], "path "):
		return 2
	}
	return 1
}

// behind tells why a route that matches comes after the one that took the request.
func (q *asked) behind(w *way, l model.ListenerKey, winner, loser request.Tried) string {
	first, ok := q.order(w, l, winner)
	later, found := q.order(w, l, loser)
	if !ok || !found {
		return "it comes later"
	}
	return gateway.Behind(first, later)
}

// order is the precedence of a route in its domain, by its entry there or in a wider domain.
func (q *asked) order(w *way, l model.ListenerKey, t request.Tried) (string, bool) {
	place, found := q.place(t.Rule)
	if !found {
		return "", false
	}
	site := model.SiteKey{Rule: t.Rule, Match: t.Match.IndexIn(place.rule), Listener: l}
	listener, _ := flow.Get(q.view, q.world.Plan.Listeners, l)
	for _, domain := range append([]string{w.result.Domain}, model.Wider(w.result.Domain, listener.Hostname)...) {
		site.Domain = domain
		if site, found := flow.Get(q.view, q.world.Plan.Sites, site); found {
			return site.Order, true
		}
	}
	return "", false
}

// hosts names some hosts of route tables, with the routes that they have.
func hosts(tables [][]*resource.Part, catalog *kind.Catalog) (notes []string) {
	type host struct {
		domain string
		route  model.ObjectRef
	}
	seen := map[host]bool{}
	for _, parts := range tables {
		for _, p := range parts {
			for _, f := range p.Fragments {
				if k := catalog.Of(f.Origin.Object.Kind()); k != nil && k.Route {
					seen[host{p.ID, f.Origin.Object}] = true
				}
			}
		}
	}
	list := slices.SortedFunc(maps.Keys(seen), func(a, b host) int {
		return cmp.Or(cmp.Compare(a.domain, b.domain), a.route.Compare(b.route))
	})
	for _, h := range list[:min(nearest, len(list))] {
		notes = append(notes, fmt.Sprintf("%s has routes here: %s", h.domain, h.route))
	}
	if more := len(list) - nearest; more > 0 {
		notes = append(notes, fmt.Sprintf("and %d more", more))
	}
	return notes
}
