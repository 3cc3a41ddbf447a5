package policy

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// routes has the routes for which something narrower than a listener states something.
func (m *Meaning) routes(in Inputs) *flow.Collection[model.ObjectRef, Route] {
	return flow.Map(in.Plan.Routes, "policy/routes", func(c *flow.Ctx, ref model.ObjectRef, r model.Route) (Route, bool) {
		q := routeScope{c: c, m: m, in: in, ref: ref, route: r}
		if _, touched := flow.Fetch(c, m.Store.touched, ref); touched {
			q.own = map[model.Kind]members{}
			for _, k := range m.Store.atRules() {
				q.own[k.Kind] = m.Store.on(c, ref, k.Kind)
			}
		}
		var out Route
		for i, place := range r.Places {
			rules := q.at(place)
			if i == 0 {
				out.Rules = rules
			} else if !reflect.DeepEqual(rules, out.Rules) {
				out.At = append(out.At, PlacePieces{place.Listener, rules})
			}
		}
		return out, len(out.Rules)+len(out.At) > 0
	})
}

// routeScope looks at the rules of a route.
type routeScope struct {
	c     *flow.Ctx
	m     *Meaning
	in    Inputs
	ref   model.ObjectRef
	route model.Route
	own   map[model.Kind]members    // nil: no policy targets the route
	specs []gatewayv1.HTTPRouteRule // fetched when needed
}

// at are the pieces of the rules at a place.
func (q *routeScope) at(place model.Place) (list []RulePieces) {
	for _, rule := range q.route.Rules {
		p := RulePieces{Rule: rule.Key}
		for _, kind := range q.m.Store.readersLast() {
			r := &ruleScope{routeScope: q, place: place, rule: rule, kind: kind, before: &p}
			r.add(&p)
			r.addRefs(&p)
		}
		q.closeForgeable(&p, place, rule)
		if !p.empty() || len(p.Findings) > 0 {
			list = append(list, p)
		}
	}
	return list
}

// add adds the pieces of the kind.
func (r *ruleScope) add(out *RulePieces) {
	index := r.level("")
	upgrade, direct := upgrades(r.rule) && r.plaintext(r.place), r.direct()
	stating := r.withOwn(r.stating(), index)
	if !upgrade {
		stating = r.withReaders(r.withAnew(stating, index), index)
	}
	agents := r.agents(stating, index)
	out.Findings = append(out.Findings, r.withoutPolicy(stating, index)...)
	if len(stating)+len(index.Inherits)+len(index.Holds)+len(agents) == 0 && !upgrade && !direct {
		return
	}
	scope := r.scope()
	var broader []level
	for _, f := range r.kind.inOrder() {
		// A broader level is looked up only if it counts: an edit of it concerns no other rule.
		if direct && f.UnlessDirect && r.withoutEffect(f, r.broader(f.Name), scope, out) {
			continue
		}
		inherits := slices.Contains(index.Inherits, f.Name)
		if upgrade && f.UnlessUpgrade && !slices.Contains(stating, f) {
			far := r.broader(f.Name).Piece
			if off := offs(far.Rendered.Settings, nil, far.by()); len(off) > 0 {
				out.Pieces = append(out.Pieces, RulePiece{r.kind.Kind, Piece{
					Effective: Effective{Feature: f.Name}, Idle: upgraded, Rendered: plan.Rendered{Settings: off},
				}})
			}
			continue
		}
		states := slices.Contains(stating, f)
		if !states && !inherits && !slices.Contains(index.Holds, f.Name) {
			continue
		}
		broad := r.broader(f.Name)
		own, stated := r.ownFields(f)
		if !states && !stated {
			out.Fields = append(out.Fields, broad.Piece.Rendered.Fields...)
			continue
		}
		if list := r.statedWith(f, broad, own, stated); !empty(list) {
			scope.add(f, list)
			broader = append(broader, broad)
		}
	}
	for i, f := range scope.features {
		r.checkExtension(f, scope)
		piece := scope.piece(f, broader[i].Piece.Rendered.Settings)
		out.Pieces = append(out.Pieces, RulePiece{r.kind.Kind, piece})
	}
	for _, f := range agents {
		r.addAgents(out, f)
	}
}

// scope is where features of the rule are read.
func (r *ruleScope) scope() *scope {
	scope := r.m.scope(r.c, r.kind, r.route.DataPlane(r.place.Gateway))
	scope.route = r.ref
	scope.where.GRPC, scope.where.Redirects = r.ref.Kind() == model.KindGRPCRoute, r.rule.Redirect != nil
	scope.where.Object, scope.where.Section = r.ref.String(), r.rule.Key.Name
	scope.where.Path = pathOf(r.rule.Matches)
	scope.identity = r.identityHeaders
	return scope
}

// pathOf is what all matches compare the path with; "": they differ, or are no exact paths or prefixes.
func pathOf(matches []model.Match) (path string) {
	for i, m := range matches {
		of := m.Path.Value
		switch m.Path.Type {
		case model.PathExact:
		case model.PathPrefix, "":
			of = cmp.Or(of, "/")
		default:
			return ""
		}
		if m.GRPC != nil || i > 0 && of != path {
			return ""
		}
		path = of
	}
	return path
}

// ruleScope is a rule at a place, and a kind.
type ruleScope struct {
	*routeScope
	place model.Place
	rule  model.Rule
	kind  Kind
	// before has the pieces of kinds that came before.
	before *RulePieces
}

// level is what a feature is at the rule's listener: its own, or else its Gateway's.
func (r *ruleScope) level(feature string) level {
	key := LevelKey{r.place.Gateway, r.place.Listener.Section, r.kind.Kind, feature}
	if l, found := flow.Fetch(r.c, r.m.Levels, key); found {
		return l
	}
	key.Section = ""
	l, _ := flow.Fetch(r.c, r.m.Levels, key)
	return l
}

// broader is level, for a feature.
func (r *ruleScope) broader(feature string) level { return r.level(feature) }

// stating are the features that are stated for the rule, or for the route, and those that are rendered together with
// them.
func (r *ruleScope) stating() (list []*Feature) {
	own := r.own[r.kind.Kind]
	if own.Len() == 0 && len(r.rule.Policies) == 0 {
		return nil
	}
	for _, f := range r.kind.Features {
		if f.forRules() && !empty(r.statements(f)) {
			for _, other := range r.kind.together(f) {
				if !slices.Contains(list, other) {
					list = append(list, other)
				}
			}
		}
	}
	return list
}

// withOwn adds the features that are rendered together with one that the rule's own fields state, where a policy states
// one of them.
func (r *ruleScope) withOwn(stating []*Feature, index level) []*Feature {
	all := slices.Clone(stating)
	for _, f := range r.kind.Features {
		group := r.kind.together(f)
		if !slices.ContainsFunc(group, func(g *Feature) bool {
			return slices.Contains(stating, g) || slices.Contains(index.Inherits, g.Name) || slices.Contains(index.Holds, g.Name)
		}) {
			continue
		}
		if _, stated := r.ownFields(f); !stated {
			continue
		}
		for _, g := range group {
			if !slices.Contains(all, g) {
				all = append(all, g)
			}
		}
	}
	return all
}

// withAnew adds the features that the rule inherits and reads once more, and those that are rendered with them.
func (r *ruleScope) withAnew(stating []*Feature, index level) []*Feature {
	anew := index.Anew
	if r.ref.Kind() == model.KindGRPCRoute {
		anew = slices.Concat(anew, index.AnewGRPC)
	}
	for _, f := range r.kind.Features {
		if !slices.Contains(anew, f.Name) {
			continue
		}
		for _, g := range r.kind.together(f) {
			if !slices.Contains(stating, g) {
				stating = append(stating, g)
			}
		}
	}
	return stating
}

// statements are those for the route and the rule, and those of the policies that the rule names.
func (r *ruleScope) statements(f *Feature) (list []statements) {
	if f.Levels.Has(atRule) {
		own := r.own[r.kind.Kind]
		list = append(list, at(own, "", LevelRoute, f.Name), at(own, r.rule.Key.Name, LevelRule, f.Name))
	}
	return append(list, r.named(r.rule.Policies, LevelExtension, f.Name)...)
}

// named are the statements of policies that filters of type ExtensionRef name.
func (r *ruleScope) named(policies []model.ObjectRef, level Level, feature string) (list []statements) {
	for _, ref := range policies {
		if p, found := flow.Fetch(r.c, r.m.Store.policies, ref); found && ref.Kind() == r.kind.Kind && p.states(feature) {
			list = append(list, statements{level, []statement{p.statement(ref, level, feature)}})
		}
	}
	return list
}

// ownFields is what the rule's own fields state of a feature.
func (r *ruleScope) ownFields(f *Feature) (spec string, stated bool) {
	if f.Own == nil {
		return "", false
	}
	if r.specs == nil {
		r.specs, _ = r.in.spec(r.c, r.ref)
	}
	if r.rule.Index >= len(r.specs) {
		return "", false
	}
	b, stated := f.Own(r.specs[r.rule.Index])
	return string(b), stated
}

// spec are the rules of a route as it states them, in the words of an HTTPRoute.
func (in Inputs) spec(c *flow.Ctx, ref model.ObjectRef) (rules []gatewayv1.HTTPRouteRule, found bool) {
	if ref.Kind() == model.KindGRPCRoute {
		o, found := flow.Fetch(c, in.Sources.GRPCRoutes.Collection(), ref)
		if !found {
			return nil, false
		}
		return input.AsHTTPRoute(o.Spec).Rules, true
	}
	o, found := flow.Fetch(c, in.Sources.HTTPRoutes.Collection(), ref)
	if !found {
		return nil, false
	}
	return o.Spec.Rules, true
}

const upgraded = "does not hold for a redirect to https"

// upgrades tells whether a rule does nothing but redirect to https.
func upgrades(r model.Rule) bool {
	d := r.Redirect
	return r.Error == 0 && d != nil && strings.EqualFold(d.Scheme, "https") && d.Hostname == ""
}

// plaintext tells whether a listener has no TLS.
func (q *routeScope) plaintext(place model.Place) bool {
	l, found := flow.Fetch(q.c, q.in.Plan.Listeners, place.Listener)
	return found && l.Protocol == model.HTTP
}
