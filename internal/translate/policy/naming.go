package policy

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/conditions"
)

// routesByPolicy are the routes that name a policy in filters of type ExtensionRef, whether the rules can be served or
// not.
type routesByPolicy = flow.Collection[model.ObjectRef, flow.Members[model.ObjectRef, []model.ObjectRef]]

func (s *Store) newRoutesByPolicy(in *kinds.Sources) *routesByPolicy {
	var inputs []flow.Input[model.ObjectRef, []model.ObjectRef]
	for _, k := range in.Catalog.Routes() {
		if k.Route.ForHTTP() {
			inputs = append(inputs, flow.FromProjected(in.KindSource(k.Kind).Objects(),
				func(_ *flow.Ctx, ref model.ObjectRef, o kind.UntypedObject) ([]model.ObjectRef, bool) {
					list := s.namedIn(ref, k.Route.HTTP(o.Spec).Rules)
					return list, len(list) > 0
				}))
		}
	}
	naming := flow.Merge("policy/naming", inputs[0], inputs[1:]...)
	return flow.Group(naming, "policy/namings",
		func(_ model.ObjectRef, policies []model.ObjectRef) []model.ObjectRef { return policies }, flow.ByKey)
}

// namedIn are the policies that filters of a route's rules and backendRefs name, sorted.
func (s *Store) namedIn(route model.ObjectRef, rules []gatewayv1.HTTPRouteRule) (list []model.ObjectRef) {
	add := func(filters []gatewayv1.HTTPRouteFilter) {
		for _, f := range filters {
			if f.ExtensionRef == nil {
				continue
			}
			kind := model.KindOf(string(f.ExtensionRef.Group), string(f.ExtensionRef.Kind))
			if _, known := s.FindKind(kind); known {
				list = append(list, model.Ref(kind, route.Namespace(), string(f.ExtensionRef.Name)))
			}
		}
	}
	for _, rule := range rules {
		add(rule.Filters)
		for _, b := range rule.BackendRefs {
			add(b.Filters)
		}
	}
	slices.SortFunc(list, model.ObjectRef.Compare)
	return slices.Compact(list)
}

// byFilters adds the Gateways of a route that names a policy in its filters.
func (r reporter) byFilters(c *flow.Ctx, ref, at model.ObjectRef, facts *conditions.PolicyFacts) {
	names := func(rule model.Rule) bool {
		return slices.Contains(rule.Policies, ref) || slices.ContainsFunc(rule.Backends,
			func(b model.WeightedBackend) bool { return slices.Contains(b.Policies, ref) })
	}
	route, _ := flow.Fetch(c, r.inputs.Plan.Routes, at)
	if len(route.Gateways) > 0 && !slices.ContainsFunc(route.Rules, names) {
		addTarget(facts, Target{Object: at}, conditions.PolicyAncestor{
			Unserved: "the rules that name the policy can't be served; see the route's status",
		})
		return
	}
	r.addRuleTargets(c, Target{Object: at}, route, facts, names)
}

// reachesNothing warns of a policy that has no targets, and that no rule names.
func (r reporter) reachesNothing(ref model.ObjectRef) model.Finding {
	message := "it reaches nothing: state targetRefs or targetSelectors"
	kind, _ := r.Store.FindKind(ref.Kind())
	if slices.ContainsFunc(kind.Features, func(f *Feature) bool {
		return f.forRules() || f.Levels.Has(extend.AtBackendRef)
	}) {
		message += ", or name it in a filter of type ExtensionRef of a route's rule"
	}
	return model.Finding{Object: ref, Severity: model.Warning, Field: "spec", Message: message}
}
