package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/envoy"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/gateway"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resource"
	"cardea.dev/cardea/internal/simulate"
)

// nearest is how many near misses are told.
const nearest = 5

// candidate is a route that did not take the request.
type candidate struct {
	simulate.Tried
	key model.RuleKey
}

// near finds the rules of the request's host that might have been expected to take it: those that would have, too, and
// those that miss one thing only. A rule is told once, by its nearest match.
func (q *asked) near(w *way, l model.PortListener) []Near {
	tried := w.tried
	first := slices.IndexFunc(tried, func(t simulate.Tried) bool { return len(t.Misses) == 0 })
	won, _ := ruleOf(tried, first)
	var list []candidate
	for i, t := range tried {
		if key, ok := ruleOf(tried, i); ok && key != won && len(t.Misses) <= 1 {
			list = append(list, candidate{t, key})
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(distance(a.Tried), distance(b.Tried)) })
	var near []Near
	told := map[model.RuleKey]bool{}
	for _, n := range list {
		if len(near) == nearest || told[n.key] {
			continue
		}
		told[n.key] = true
		place, found := q.place(n.key)
		if !found {
			continue
		}
		at := envoy.MatchIndex(place.rule, n.Match)
		miss := Near{Object: n.key.Route.String(), Rule: n.key.Name,
			Match: matchText(place.rule, at, simulate.Words(n.Match))}
		miss.Where = q.locate(n.key.Route, matchField(place.index, at))
		if len(n.Misses) > 0 {
			miss.Why = n.Misses[0]
		} else {
			miss.Why = "it matches, too; " + q.behind(w, l.Key, tried[first], n)
		}
		near = append(near, miss)
	}
	return near
}

func ruleOf(tried []simulate.Tried, i int) (model.RuleKey, bool) {
	if i < 0 {
		return model.RuleKey{}, false
	}
	return envoy.RuleNamed(tried[i].Route)
}

// distance sorts candidates: what matches, what misses a header or the like, what misses the path.
func distance(t simulate.Tried) int {
	switch {
	case len(t.Misses) == 0:
		return 0
	case strings.HasPrefix(t.Misses[0], "path "):
		return 2
	}
	return 1
}

// behind tells why a route that matches comes after the one that took the request.
func (q *asked) behind(w *way, l model.ListenerKey, winner simulate.Tried, loser candidate) string {
	first, ok := q.order(w, l, winner)
	later, found := q.order(w, l, loser.Tried)
	if !ok || !found {
		return "it comes later"
	}
	return gateway.Behind(first, later)
}

// order is the precedence of a route in its virtual host: that of its site at the host's domain, or at a wider one.
func (q *asked) order(w *way, l model.ListenerKey, t simulate.Tried) (string, bool) {
	key, ok := envoy.RuleNamed(t.Route)
	place, found := q.place(key)
	if !ok || !found {
		return "", false
	}
	at := envoy.MatchIndex(place.rule, t.Match)
	listener, _ := flow.Get(q.view, q.world.Plan.Listeners, l)
	for _, domain := range append([]string{w.result.VirtualHost},
		model.Wider(w.result.VirtualHost, listener.Hostname)...) {
		if site, found := flow.Get(q.view, q.world.Plan.Sites,
			model.SiteKey{Rule: key, Match: at, Listener: l, Domain: domain}); found {
			return site.Order, true
		}
	}
	return "", false
}

// hosts names some hosts of route tables, with the routes that they have.
func hosts(tables [][]*resource.Part) (notes []string) {
	type host struct {
		domain string
		route  model.ObjectRef
	}
	seen := map[host]bool{}
	for _, parts := range tables {
		for _, p := range parts {
			for _, f := range p.Fragments {
				if kind := f.Origin.Object.Kind(); kind == model.KindHTTPRoute || kind == model.KindGRPCRoute {
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
