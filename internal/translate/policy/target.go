package policy

import (
	"fmt"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/translate/conditions"
)

// addTargetAncestors adds the Gateways that a policy reaches by a target, or the target if it leads to none.
func (r reporter) addTargetAncestors(c *flow.Ctx, ref model.ObjectRef, t Target, facts *conditions.PolicyFacts) {
	backend := r.Store.backend(t.Object.Kind())
	switch of, _ := r.Store.FindKind(ref.Kind()); {
	case t.Object.Kind() == model.KindGatewayClass:
		r.addClassTarget(c, ref, t, facts)
	case t.Object.Kind() == model.KindGateway:
		r.addGatewayTarget(c, ref, t, facts)
	case of.AtRule() && r.inputs.Sources.Catalog.FindKind(t.Object.Kind()).AsRoute().ForHTTP():
		r.addRouteTarget(c, t, facts)
	case of.hasLevels(extend.AtRuleBackend) && backend.Can(kind.ForRules):
		r.addRuleBackendTarget(c, t, facts)
	case of.hasLevels(extend.AtBackend) && t.Object.Kind() == model.KindService:
		r.addServiceTarget(c, ref, t, facts)
	case of.hasLevels(extend.AtBackend) && backend.Can(kind.ForBackend):
		r.wholeBackend(c, ref, t, facts)
	default:
		why := fmt.Sprintf("a %s can't target a %s", ref.Kind(), t.Object.Kind())
		if of.OfListeners() {
			why += ": it applies to connections; target a Gateway, or a listener of it by sectionName"
		}
		addTarget(facts, t, conditions.PolicyAncestor{Invalid: why})
	}
}

func addTarget(facts *conditions.PolicyFacts, t Target, a conditions.PolicyAncestor) {
	a.Object, a.Section = t.Object, t.Section
	facts.Ancestors = append(facts.Ancestors, a)
}

// addGateway adds a Gateway once.
func addGateway(facts *conditions.PolicyFacts, gateway model.ObjectRef, s resource.AckState) {
	for i, a := range facts.Ancestors {
		if a.Object == gateway && a.Missing+a.Invalid+a.Unserved == "" {
			facts.Ancestors[i].AckState.Acknowledged = a.AckState.Acknowledged && s.Acknowledged
			if a.AckState.Refused == "" {
				facts.Ancestors[i].AckState.Refused = s.Refused
			}
			return
		}
	}
	facts.Ancestors = append(facts.Ancestors, conditions.PolicyAncestor{Object: gateway, AckState: s})
}

func (r reporter) addClassTarget(c *flow.Ctx, ref model.ObjectRef, t Target, facts *conditions.PolicyFacts) {
	_, found := flow.Fetch(c, r.inputs.Sources.GatewayClasses.Collection(), t.Object)
	members, used := flow.Fetch(c, r.gatewaysByClass, t.Object)
	switch {
	case r.inputs.Namespace != "" && ref.Namespace() != r.inputs.Namespace:
		addTarget(facts, t, conditions.PolicyAncestor{Invalid: fmt.Sprintf(
			"only policies of namespace %s, which is Cardea's own, can target a GatewayClass", r.inputs.Namespace)})
	case !found:
		addTarget(facts, t, conditions.PolicyAncestor{Missing: r.describeAbsent(c, t.Object)})
	case !used:
		addTarget(facts, t, conditions.PolicyAncestor{Unserved: "no Gateway that Cardea serves has the class"})
	}
	for g := range members.All() {
		addGateway(facts, g, r.atLevel(c, g, ref))
	}
}

func (r reporter) addGatewayTarget(c *flow.Ctx, ref model.ObjectRef, t Target, facts *conditions.PolicyFacts) {
	names, found := r.inputs.listSections(c, t.Object)
	if !found {
		addTarget(facts, t, conditions.PolicyAncestor{Missing: r.describeAbsent(c, t.Object)})
		return
	}
	if why := describeMissingSection(t, "listener", names); why != "" {
		addTarget(facts, t, conditions.PolicyAncestor{Missing: why})
		return
	}
	if _, served := flow.Fetch(c, r.inputs.Plan.Gateways, t.Object); !served {
		addTarget(facts, t, conditions.PolicyAncestor{Unserved: "the Gateway is not served; see its status"})
		return
	}
	addGateway(facts, t.Object, r.atLevel(c, t.Object, ref))
}

// describeAbsent says why a target was not found: nobody declares it, or its declaration has a mistake.
func (r reporter) describeAbsent(c *flow.Ctx, ref model.ObjectRef) string {
	return input.DescribeAbsent(c, r.inputs.Sources.Broken.Collection(), ref)
}

// describeMissingSection says that a target has no section of its name, and which it has; "" if it has one, or none is
// named.
func describeMissingSection(t Target, what string, names []string) string {
	if t.Section == "" {
		return ""
	}
	for _, name := range names {
		if name == t.Section {
			return ""
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("%s has no %s named %s; none of its %ss has a name", t.Object, what, t.Section, what)
	}
	return fmt.Sprintf("%s has no %s named %s; it has: %s", t.Object, what, t.Section, model.JoinSome(names))
}

// atLevel is the standing of what is rendered of a policy for a Gateway or its listeners.
func (r reporter) atLevel(c *flow.Ctx, gateway, policy model.ObjectRef) resource.AckState {
	key := resource.AckStateKey{Gateway: gateway, Origin: resource.Origin{Object: policy}}
	if s, found := flow.Fetch(c, r.out.Settings, key); found {
		return s
	}
	// Nothing is rendered of it there: it has fields of routes, which tell in their own status, or nothing counts.
	g, _ := flow.Fetch(c, r.inputs.Plan.Gateways, gateway)
	_, proxied := flow.Fetch(c, r.proxied, gateway)
	return resource.AckState{Acknowledged: proxied || g.DataPlane.ReadsFiles}
}

func (r reporter) addRouteTarget(c *flow.Ctx, t Target, facts *conditions.PolicyFacts) {
	names, found := r.inputs.listSections(c, t.Object)
	if !found {
		addTarget(facts, t, conditions.PolicyAncestor{Missing: r.describeAbsent(c, t.Object)})
		return
	}
	if why := describeMissingSection(t, "rule", names); why != "" {
		addTarget(facts, t, conditions.PolicyAncestor{Missing: why})
		return
	}
	route, _ := flow.Fetch(c, r.inputs.Plan.Routes, t.Object)
	r.addRuleTargets(c, t, route, facts, func(rule model.Rule) bool {
		return t.Section == "" ||
			rule.Key.Name == t.Section
	})
}

// addRuleTargets adds the Gateways of a route that has rules which a policy reaches.
func (r reporter) addRuleTargets(
	c *flow.Ctx, t Target, route model.Route, facts *conditions.PolicyFacts, reached func(model.Rule) bool,
) {
	if len(route.Gateways) == 0 {
		addTarget(facts, t, conditions.PolicyAncestor{Unserved: "no Gateway that Cardea serves accepts the route; see " +
			"its status"})
		return
	}
	for _, g := range route.Gateways {
		addGateway(facts, g.Ref, r.ofRules(c, g.Ref, t.Object, route, reached))
	}
}

// ofRules is the standing of some rules of a route.
func (r reporter) ofRules(
	c *flow.Ctx, gateway, ref model.ObjectRef, route model.Route, reached func(model.Rule) bool,
) resource.AckState {
	all := resource.AckState{Acknowledged: true}
	at, _ := flow.Fetch(c, r.out.Routes, resource.RouteKey{Gateway: gateway, Route: ref})
	for i, s := range at.RuleStates(func(model.ListenerKey) bool { return true }) {
		if i >= len(route.Rules) || !reached(route.Rules[i]) {
			continue
		}
		all.Acknowledged = all.Acknowledged && s.Acknowledged
		if all.Refused == "" {
			all.Refused = s.Refused
		}
	}
	return all
}
