package policy

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// newRoutes has the routes for which something narrower than a listener states something.
func (m *Translator) newRoutes(in Inputs) *flow.Collection[model.ObjectRef, RoutePieces] {
	return flow.Map(in.Plan.Routes, "policy/routes", func(c *flow.Ctx, ref model.ObjectRef, r model.Route) (RoutePieces,
		bool) {
		q := routeScope{c: c, m: m, in: in, ref: ref, route: r}
		if !q.declared().ForHTTP() {
			out := RoutePieces{Rules: q.closedRules()}
			return out, len(out.Rules) > 0
		}
		if _, touched := flow.Fetch(c, m.Store.byTarget, ref); touched {
			q.own = map[model.Kind]attachedPolicies{}
			for _, k := range m.Store.atRules() {
				q.own[k.Kind] = m.Store.policiesOn(c, ref, k.Kind)
			}
		}
		var out RoutePieces
		for i, place := range r.Listeners {
			rules := q.piecesAt(place)
			if i == 0 {
				out.Rules = rules
			} else if !reflect.DeepEqual(rules, out.Rules) {
				out.At = append(out.At, ListenerPieces{place.Listener, rules})
			}
		}
		return out, len(out.Rules)+len(out.At) > 0
	})
}

// routeScope looks at the rules of a route.
type routeScope struct {
	c     *flow.Ctx
	m     *Translator
	in    Inputs
	ref   model.ObjectRef
	route model.Route
	own   map[model.Kind]attachedPolicies // nil: no policy targets the route
	specs []gatewayv1.HTTPRouteRule       // fetched when needed
}

// declared is what the route is by its kind.
func (q *routeScope) declared() *kind.Route {
	return q.in.Sources.Catalog.FindKind(q.ref.Kind()).AsRoute()
}

// piecesAt are the pieces of the rules at a place.
func (q *routeScope) piecesAt(place model.RouteListener) (list []RulePieces) {
	for _, rule := range q.route.Rules {
		p := RulePieces{Rule: rule.Key}
		for _, kind := range q.m.Store.readersLast() {
			r := &ruleScope{routeScope: q, routeListener: place, rule: rule, policyKind: kind, before: &p}
			r.addPieces(&p)
			r.addRefs(&p)
		}
		q.closeForgeable(&p, place, rule)
		if !p.isEmpty() || len(p.Findings) > 0 {
			list = append(list, p)
		}
	}
	return list
}

// addPieces adds the pieces of the kind.
func (r *ruleScope) addPieces(out *RulePieces) {
	index := r.levelOf("")
	upgrade, direct := redirectsToHTTPS(r.rule) && r.isPlaintext(r.routeListener), r.answersDirectly()
	stating := r.withOwn(r.statingFeatures(), index)
	if !upgrade {
		stating = r.withReaders(r.withReread(stating, index), index)
	}
	agents := r.agentFeatures(stating, index)
	out.Findings = append(out.Findings, r.withoutPolicy(stating, index)...)
	if len(stating)+len(index.RouteFieldFeatures)+len(index.OverrideFeatures)+len(agents) == 0 && !upgrade && !direct {
		return
	}
	scope := r.newScope()
	var broader []levelFeature
	for _, f := range r.policyKind.inOrder() {
		// A broader level is looked up only if it counts: an edit of it concerns no other rule.
		if direct && f.SkipDirectResponse && r.withoutEffect(f, r.broaderLevel(f.Name), scope, out) {
			continue
		}
		inherits := slices.Contains(index.RouteFieldFeatures, f.Name)
		if upgrade && f.SkipHTTPSRedirect && !slices.Contains(stating, f) {
			far := r.broaderLevel(f.Name).Piece
			if off := turnOff(far.Rendered.Settings, nil, far.attributedPolicy()); len(off) > 0 {
				out.Pieces = append(out.Pieces, RulePiece{r.policyKind.Kind, Piece{
					Effective: Effective{Feature: f.Name}, Idle: httpsRedirectMessage, Rendered: plan.Rendered{Settings: off},
				}})
			}
			continue
		}
		states := slices.Contains(stating, f)
		if !states && !inherits && !slices.Contains(index.OverrideFeatures, f.Name) {
			continue
		}
		broad := r.broaderLevel(f.Name)
		own, stated := r.ownFields(f)
		if !states && !stated {
			out.Fields = append(out.Fields, broad.Piece.Rendered.Fields...)
			continue
		}
		if list := r.statedWith(f, broad, own, stated); !noStatements(list) {
			scope.addFeature(f, list)
			broader = append(broader, broad)
		}
	}
	for i, f := range scope.features {
		r.checkExtension(f, scope)
		piece := scope.newPiece(f, broader[i].Piece.Rendered.Settings)
		out.Pieces = append(out.Pieces, RulePiece{r.policyKind.Kind, piece})
	}
	for _, f := range agents {
		r.addAgents(out, f)
	}
}

// newScope is where features of the rule are read.
func (r *ruleScope) newScope() *featureScope {
	scope := r.m.newScope(r.c, r.policyKind, r.route.DataPlaneOf(r.routeListener.Gateway))
	scope.route = r.ref
	scope.where.GRPC, scope.where.Redirects = r.declared().GRPC, r.rule.Redirect != nil
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
	routeListener model.RouteListener
	rule          model.Rule
	policyKind    Kind
	// before has the pieces of kinds that came before.
	before *RulePieces
}

// levelOf is what a feature is at the rule's listener: its own, or else its Gateway's.
func (r *ruleScope) levelOf(feature string) levelFeature {
	gateway := r.routeListener.Gateway
	key := LevelKey{gateway, r.routeListener.Listener.Level(gateway), r.policyKind.Kind, feature}
	if l, found := flow.Fetch(r.c, r.m.Levels, key); found {
		return l
	}
	key.Section = ""
	l, _ := flow.Fetch(r.c, r.m.Levels, key)
	return l
}

// broaderLevel is level, for a feature.
func (r *ruleScope) broaderLevel(feature string) levelFeature { return r.levelOf(feature) }

// statingFeatures are the features that are stated for the rule, or for the route, and those that are rendered together
// with them.
func (r *ruleScope) statingFeatures() (list []*Feature) {
	own := r.own[r.policyKind.Kind]
	if own.Len() == 0 && len(r.rule.Policies) == 0 {
		return nil
	}
	for _, f := range r.policyKind.Features {
		if f.forRules() && !noStatements(r.ownStatements(f)) {
			for _, other := range r.policyKind.featureGroup(f) {
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
func (r *ruleScope) withOwn(stating []*Feature, index levelFeature) []*Feature {
	all := slices.Clone(stating)
	for _, f := range r.policyKind.Features {
		group := r.policyKind.featureGroup(f)
		if !slices.ContainsFunc(group, func(g *Feature) bool {
			return slices.Contains(stating, g) || slices.Contains(index.RouteFieldFeatures, g.Name) ||
				slices.Contains(index.OverrideFeatures, g.Name)
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

// withReread adds the features that the rule inherits and reads once more, and those that are rendered with them.
func (r *ruleScope) withReread(stating []*Feature, index levelFeature) []*Feature {
	reread := index.Reread
	if r.declared().GRPC {
		reread = slices.Concat(reread, index.RereadGRPC)
	}
	for _, f := range r.policyKind.Features {
		if !slices.Contains(reread, f.Name) {
			continue
		}
		for _, g := range r.policyKind.featureGroup(f) {
			if !slices.Contains(stating, g) {
				stating = append(stating, g)
			}
		}
	}
	return stating
}

// ownStatements are those for the route and the rule, and those of the policies that the rule names.
func (r *ruleScope) ownStatements(f *Feature) (list []statements) {
	if f.Levels.Has(atRule) {
		own := r.own[r.policyKind.Kind]
		list = append(list, statementsAt(own, "", LevelRoute, f.Name), statementsAt(own, r.rule.Key.Name, LevelRule, f.Name))
	}
	return append(list, r.namedStatements(r.rule.Policies, LevelExtension, f.Name)...)
}

// namedStatements are the statements of policies that filters of type ExtensionRef name.
func (r *ruleScope) namedStatements(policies []model.ObjectRef, level Level, feature string) (list []statements) {
	for _, ref := range policies {
		if p, found := flow.Fetch(r.c, r.m.Store.policies, ref); found && ref.Kind() == r.policyKind.Kind &&
			p.statesFeature(feature) {
			list = append(list, statements{level, []statement{p.newStatement(ref, level, feature)}})
		}
	}
	return list
}

// ownFields is what the rule's own fields state of a feature.
func (r *ruleScope) ownFields(f *Feature) (spec string, stated bool) {
	if f.RuleFields == nil {
		return "", false
	}
	if r.specs == nil {
		r.specs, _ = r.in.ruleSpecs(r.c, r.ref)
	}
	if r.rule.Index >= len(r.specs) {
		return "", false
	}
	b, stated := f.RuleFields(r.specs[r.rule.Index])
	return string(b), stated
}

// ruleSpecs are the rules of a route as it states them, in the words of an HTTPRoute.
func (in Inputs) ruleSpecs(c *flow.Ctx, ref model.ObjectRef) (rules []gatewayv1.HTTPRouteRule, found bool) {
	route := in.Sources.Catalog.FindKind(ref.Kind()).AsRoute()
	if !route.ForHTTP() {
		return nil, false
	}
	o, found := flow.FetchProjected(c, in.Sources.KindSource(ref.Kind()).Objects(), ref)
	if !found {
		return nil, false
	}
	return route.HTTP(o.Spec).Rules, true
}

const httpsRedirectMessage = "has no effect on a redirect to https"

// redirectsToHTTPS tells whether a rule does nothing but redirect to https.
func redirectsToHTTPS(r model.Rule) bool {
	d := r.Redirect
	return r.Error == 0 && d != nil && strings.EqualFold(d.Scheme, "https") && d.Hostname == ""
}

// isPlaintext tells whether a listener has no TLS.
func (q *routeScope) isPlaintext(place model.RouteListener) bool {
	l, found := flow.Fetch(q.c, q.in.Plan.Listeners, place.Listener)
	return found && l.Protocol.Plaintext()
}
