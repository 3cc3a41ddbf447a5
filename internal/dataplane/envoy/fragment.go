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
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/route"
)

// routesField is VirtualHost.routes.
const routesField = 3

// renderedRule is what a rule was rendered to.
type renderedRule struct {
	Hash uint64
	// Routes holds, for each of the rule's matches, the bytes of its VirtualHost.routes fields: one, or one for each
	// backend that has filters of its own; nil where no request can match.
	Routes     model.Rope
	Preflights preflightRoutes
	// VariesByContext: the routes depend on the listener, and these stand for no place. The hash then stands for all
	// places.
	VariesByContext bool
	// VariesBySettings: so do its settings.
	VariesBySettings bool
	Clusters         []resource.Name  // that the routes name
	Entries          []plan.SharedKey // of filters that keep state, which its settings name, without their Gateway
	Problems         []string         // why matches answer 500 in place of what the rule says
	AnswersError     bool             // the rule says itself that it answers an error
}

// renderRule renders a rule for a place. A rule that can't be rendered answers an error, and the fragment says why.
func renderRule(r route.Rule, at route.ListenerContext) renderedRule {
	f := renderedRule{VariesByContext: route.VariesByContext(r.Rule), Clusters: r.ClusterNames(), Entries: r.EntryKeys(),
		AnswersError: r.Error != 0}
	for i, m := range r.Matches {
		routes, err := route.RenderRule(r, m.Path, at)
		b, err := encodeMatchRoutes(r, m, routes, err)
		if err != nil {
			f.Problems = append(f.Problems, fmt.Sprintf("match %d: %v", i, err))
			b = substituteRoute(r.Rule, m)
		} else {
			f.Preflights.addMatch(r, i, routes)
		}
		f.Routes = append(f.Routes, b)
	}
	f.Hash = hashRoutes(slices.Concat(f.Routes, f.Preflights.Own, f.Preflights.Inherited))
	return f
}

func encodeMatchRoutes(r route.Rule, m model.Match, routes []*routev3.Route, wrong error) ([]byte, error) {
	match, err := route.RouteMatch(m)
	if err = cmp.Or(err, wrong); err != nil {
		return nil, err
	}
	var all []byte
	for _, match := range route.EquivalentMatches(match) {
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

// substituteRoute answers an error to the requests of a match: in place of what can't be rendered or was refused, and
// rather than to let them fall through to a wider rule. It is nil if the match itself is what can't be rendered:
// nothing matches it.
func substituteRoute(r model.Rule, m model.Match) []byte {
	match, err := route.RouteMatch(m)
	if err != nil {
		return nil
	}
	var all []byte
	for _, match := range route.EquivalentMatches(match) {
		b, err := encodeRoute(r.Key, match, route.FailureRoute(r.Key.Route))
		if err != nil {
			return nil
		}
		all = append(all, b...)
	}
	return all
}

// substituteRoutes are the substitutes of all matches of a rule that a proxy refused.
func substituteRoutes(r model.Rule) [][]byte {
	routes := make([][]byte, len(r.Matches))
	for i, m := range r.Matches {
		if m, ok := m.WithoutRegex(); ok {
			routes[i] = substituteRoute(r, m)
		}
	}
	return routes
}

// encodeRoute checks a route against the rules that Envoy's protos state, since one route that breaks them makes Envoy
// refuse the whole table, and marshals it.
func encodeRoute(k model.RuleKey, match *routev3.RouteMatch, route *routev3.Route) ([]byte, error) {
	route.Match = match
	route.Name = naming.Rule(k)
	if err := route.ValidateAll(); err != nil {
		return nil, err
	}
	b, err := message.Deterministic.Marshal(route)
	if err != nil {
		return nil, err
	}
	return message.EncodeField(routesField, b), nil
}

func hashRoutes(routes [][]byte) uint64 {
	h := xxhash.New()
	for _, b := range routes {
		_, _ = h.Write(b)
		_, _ = h.Write([]byte{0}) // a match without a route counts
	}
	return h.Sum64()
}

// renderRules renders all rules, by themselves.
func (s stages) renderRules(p plan.Plan) *flow.Collection[model.RuleKey, renderedRule] {
	above := gatewaysWithCORS(s.cors)
	return flow.Derive(p.Routes, "envoy/fragments",
		func(c *flow.Ctx, ref model.ObjectRef, r model.Route, emit func(model.RuleKey, renderedRule)) {
			if !slices.ContainsFunc(r.Gateways, func(g model.RouteGateway) bool { return naming.IsEnvoy(g.DataPlane) }) {
				return
			}
			inherits := above != nil && slices.ContainsFunc(r.Rules, model.Rule.HasPreflights) &&
				slices.ContainsFunc(r.Gateways, func(g model.RouteGateway) bool {
					_, states := flow.Fetch(c, above, g.Ref)
					return states
				})
			settings := fetchOptional(c, p.Settings.Routes, ref)
			if r.IsForConnections() {
				return
			}
			for _, rule := range r.Rules {
				emit(rule.Key, renderWithSettings(rule, settings, inherits))
			}
		})
}

// renderWithSettings renders a rule with the settings that are stated for it. Where listeners have others, the hash is
// of all of them. inherits: a level above states CORS somewhere.
func renderWithSettings(rule model.Rule, in plan.RouteSettings, inherits bool) renderedRule {
	render := func(r route.Rule) renderedRule {
		r.InheritsCORS = inherits
		return renderRule(r, route.ListenerContext{})
	}
	f := render(route.WithRouteSettings(rule, in))
	for _, at := range in.AtListeners {
		if route.IndexOf(at.Rules, rule.Key) < 0 && route.IndexOf(in.Rules, rule.Key) < 0 {
			continue
		}
		other := render(route.WithListenerSettings(rule, in, at.Listener))
		f.VariesBySettings = true
		f.Clusters, f.Entries = append(f.Clusters, other.Clusters...), append(f.Entries, other.Entries...)
		f.Hash = hashRoutes(append(slices.Clone(f.Routes), fmt.Appendf(nil, "%x %x", f.Hash, other.Hash)))
	}
	return f
}

// variantHash is the hash of a rule's content at a place: it changes when the rule or the place does.
func variantHash(f renderedRule, variant string) uint64 {
	if variant == "" {
		return f.Hash
	}
	h := xxhash.New()
	_, _ = fmt.Fprintf(h, "%x %s", f.Hash, variant)
	return h.Sum64()
}
