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
	"cardea.dev/cardea/internal/translate/precedence"
)

// maxNear is how many near misses are shown.
const maxNear = 5

// findNearMisses finds the rules of the request's host that a user might expect to take it: those that would have taken
// it, too, and those that miss only one condition. A rule is listed once, with its nearest match.
func (q *inquiry) findNearMisses(w *gatewayCandidate, l model.PortListener) []NearMiss {
	var winner request.RouteComparison
	if first := slices.IndexFunc(w.tried,
		func(t request.RouteComparison) bool { return len(t.Mismatches) == 0 }); first >= 0 {
		winner = w.tried[first]
	}
	var list []request.RouteComparison
	for _, t := range w.tried {
		if t.Rule != (model.RuleKey{}) && t.Rule != winner.Rule && len(t.Mismatches) <= 1 {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b request.RouteComparison) int {
		return cmp.Compare(missDistance(a),
			missDistance(b))
	})
	var near []NearMiss
	told := map[model.RuleKey]bool{}
	for _, t := range list {
		if len(near) == maxNear || told[t.Rule] {
			continue
		}
		told[t.Rule] = true
		place, found := q.findRule(t.Rule)
		if !found {
			continue
		}
		at := t.Match.IndexIn(place.rule)
		miss := NearMiss{Object: t.Rule.Route.String(), Rule: t.Rule.Name, Match: describeMatch(place.rule, at, t.Match)}
		miss.Where = q.locate(t.Rule.Route, matchField(place.rule, at))
		switch {
		case at >= 0 && place.rule.Matches[at].Path.Type == model.PathNone:
			miss.Why = place.rule.Matches[at].Path.Value + ", so it matches no request"
		case len(t.Mismatches) > 0:
			miss.Why = t.Mismatches[0]
		case q.isPreflight(winner):
			miss.Why = "it matches, too; preflights of an earlier rule come first: " + q.explainOrder(w, l.Key, winner, t)
		case t.Match.IsPreflight(place.rule):
			miss.Why = "it matches, too; a rule that matches the request itself comes before preflights"
		default:
			miss.Why = "it matches, too; " + q.explainOrder(w, l.Key, winner, t)
		}
		near = append(near, miss)
	}
	return near
}

// isPreflight tells whether a route takes the CORS preflights of its rule's requests, not these themselves.
func (q *inquiry) isPreflight(t request.RouteComparison) bool {
	place, found := q.findRule(t.Rule)
	return found && t.Match.IsPreflight(place.rule)
}

// missDistance sorts routes that did not take the request: what matches, what misses a header or the like, what misses
// the path.
func missDistance(t request.RouteComparison) int {
	switch {
	case len(t.Mismatches) == 0:
		return 0
	case strings.HasPrefix(t.Mismatches[0], "path "):
		return 2
	}
	return 1
}

// explainOrder tells why a route that matches comes after the one that took the request.
func (q *inquiry) explainOrder(w *gatewayCandidate, l model.ListenerKey, winner, loser request.RouteComparison) string {
	first, ok := q.findOrder(w, l, winner)
	later, found := q.findOrder(w, l, loser)
	if !ok || !found {
		return "it comes later"
	}
	return precedence.WhyLater(first, later)
}

// findOrder is the precedence of a route in its domain, by its entry there or in a wider domain.
func (q *inquiry) findOrder(w *gatewayCandidate, l model.ListenerKey, t request.RouteComparison) (string, bool) {
	place, found := q.findRule(t.Rule)
	if !found {
		return "", false
	}
	key := model.RouteEntryKey{Rule: t.Rule, Match: t.Match.IndexIn(place.rule), Listener: l}
	listener, _ := flow.Get(q.view, q.world.Plan.Listeners, l)
	for _, domain := range append([]string{w.result.Domain}, model.WiderDomains(w.result.Domain, listener.Hostname)...) {
		key.Domain = domain
		if entry, found := flow.Get(q.view, q.world.Plan.RouteEntries, key); found {
			return entry.Order, true
		}
	}
	return "", false
}

// listHosts names some hosts of route tables, with the routes that they have.
func listHosts(tables [][]*resource.Part, catalog *kind.Catalog) (notes []string) {
	type host struct {
		domain string
		route  model.ObjectRef
	}
	seen := map[host]bool{}
	for _, parts := range tables {
		for _, p := range parts {
			for _, f := range p.Fragments {
				if k := catalog.FindKind(f.Origin.Object.Kind()); k.AsRoute() != nil {
					seen[host{p.ID, f.Origin.Object}] = true
				}
			}
		}
	}
	list := slices.SortedFunc(maps.Keys(seen), func(a, b host) int {
		return cmp.Or(cmp.Compare(a.domain, b.domain), a.route.Compare(b.route))
	})
	for _, h := range list[:min(maxNear, len(list))] {
		notes = append(notes, fmt.Sprintf("%s has routes here: %s", h.domain, h.route))
	}
	if more := len(list) - maxNear; more > 0 {
		notes = append(notes, fmt.Sprintf("and %d more", more))
	}
	return notes
}
