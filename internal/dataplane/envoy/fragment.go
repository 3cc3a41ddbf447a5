package envoy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
)

// routesField is VirtualHost.routes.
const routesField = 3

// fragment is what a rule was rendered to.
type fragment struct {
	Hash uint64
	// Routes holds, for each of the rule's matches, the bytes of its VirtualHost.routes fields: one, or one for each
	// backend that has filters of its own; nil where no request can match.
	Routes     model.Rope
	Preflights preflights
	// PerPlace: the routes depend on the listener, and these stand for no place. The hash then stands for all places.
	PerPlace bool
	// PerListener: so do its settings.
	PerListener bool
	Clusters    []resource.Name  // that the routes name
	Entries     []plan.SharedKey // of filters that keep state, which its settings name, without their Gateway
	Problems    []string         // why matches answer 500 in place of what the rule says
	Fails       bool             // the rule says itself that it answers an error
}

// renderRule renders a rule for a place. A rule that can't be rendered answers an error, and the fragment says why.
func renderRule(r statedRule, at place) fragment {
	f := fragment{PerPlace: perPlace(r.Rule), Clusters: r.clusters(), Entries: r.entries(), Fails: r.Error != 0}
	for i, m := range r.Matches {
		routes, err := ruleRoutes(r, m.Path, at)
		b, err := renderMatch(r, m, routes, err)
		if err != nil {
			f.Problems = append(f.Problems, fmt.Sprintf("match %d: %v", i, err))
			b = substitute(r.Rule, m)
		} else {
			f.Preflights.add(r, i, routes)
		}
		f.Routes = append(f.Routes, b)
	}
	f.Hash = hashRoutes(slices.Concat(f.Routes, f.Preflights.Own, f.Preflights.Inherited))
	return f
}

func renderMatch(r statedRule, m model.Match, routes []*routev3.Route, wrong error) ([]byte, error) {
	match, err := routeMatch(m)
	if err = cmp.Or(err, wrong); err != nil {
		return nil, err
	}
	var all []byte
	for _, match := range spellings(match) {
		for _, route := range routes {
			own, some := match, route.GetMatch()
			if some != nil { // of what the match takes
				own = proto.CloneOf(match)
				proto.Merge(own, some)
			}
			b, err := encodeRoute(r.Key, own, route)
			route.Match = some
			if err != nil {
				return nil, err
			}
			all = append(all, b...)
		}
	}
	return all, nil
}

// substitute answers an error to the requests of a match: in place of what can't be rendered or was refused, and rather
// than to let them fall through to a wider rule. It is nil if the match itself is what can't be rendered: nothing
// matches it.
func substitute(r model.Rule, m model.Match) []byte {
	match, err := routeMatch(m)
	if err != nil {
		return nil
	}
	var all []byte
	for _, match := range spellings(match) {
		b, err := encodeRoute(r.Key, match, failure(r.Key.Route))
		if err != nil {
			return nil
		}
		all = append(all, b...)
	}
	return all
}

// substitutes are the substitutes of all matches of a rule that a proxy refused.
func substitutes(r model.Rule) [][]byte {
	routes := make([][]byte, len(r.Matches))
	for i, m := range r.Matches {
		if m, ok := m.WithoutRegex(); ok {
			routes[i] = substitute(r, m)
		}
	}
	return routes
}

// encodeRoute checks a route against the rules that Envoy's protos state, since one route that breaks them makes Envoy
// refuse the whole table, and marshals it.
func encodeRoute(k model.RuleKey, match *routev3.RouteMatch, route *routev3.Route) ([]byte, error) {
	route.Match = match
	route.Name = ruleName(k)
	if err := route.ValidateAll(); err != nil {
		return nil, err
	}
	b, err := deterministic.Marshal(route)
	if err != nil {
		return nil, err
	}
	return field(routesField, b), nil
}

func hashRoutes(routes [][]byte) uint64 {
	h := xxhash.New()
	for _, b := range routes {
		_, _ = h.Write(b)
		_, _ = h.Write([]byte{0}) // a match without a route counts
	}
	return h.Sum64()
}

// newFragments renders all rules, by themselves.
func (s stages) newFragments(p plan.Plan) *flow.Collection[model.RuleKey, fragment] {
	above := gatewaysWithCORS(s.cors)
	return flow.Derive(p.Routes, "envoy/fragments",
		func(c *flow.Ctx, ref model.ObjectRef, r model.Route, emit func(model.RuleKey, fragment)) {
			if !slices.ContainsFunc(r.Gateways, func(g model.RouteGateway) bool { return ours(g.DataPlane) }) {
				return
			}
			inherits := above != nil && slices.ContainsFunc(r.Rules, model.Rule.HasPreflights) &&
				slices.ContainsFunc(r.Gateways, func(g model.RouteGateway) bool {
					_, states := flow.Fetch(c, above, g.Ref)
					return states
				})
			settings := fetch(c, p.Settings.Routes, ref)
			for _, rule := range r.Rules {
				emit(rule.Key, renderRuleOf(rule, settings, inherits))
			}
		})
}

// renderRuleOf renders a rule with the settings that are stated for it. Where listeners have others, the hash is of all
// of them. inherits: a level above states CORS somewhere.
func renderRuleOf(rule model.Rule, in plan.RouteSettings, inherits bool) fragment {
	render := func(r statedRule) fragment {
		r.Inherits = inherits
		return renderRule(r, place{})
	}
	f := render(stated(rule, in))
	for _, at := range in.At {
		if ruleIn(at.Rules, rule.Key) < 0 && ruleIn(in.Rules, rule.Key) < 0 {
			continue
		}
		other := render(statedAt(rule, in, at.Listener))
		f.PerListener = true
		f.Clusters, f.Entries = append(f.Clusters, other.Clusters...), append(f.Entries, other.Entries...)
		f.Hash = hashRoutes(append(slices.Clone(f.Routes), fmt.Appendf(nil, "%x %x", f.Hash, other.Hash)))
	}
	return f
}

// variantHash is the hash of a rule's content at a place: it changes when the rule or the place does.
func variantHash(f fragment, variant string) uint64 {
	if variant == "" {
		return f.Hash
	}
	h := xxhash.New()
	_, _ = fmt.Fprintf(h, "%x %s", f.Hash, variant)
	return h.Sum64()
}
