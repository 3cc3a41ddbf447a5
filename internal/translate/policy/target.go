package policy

import (
	"fmt"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/translate/conditions"
)

// ancestors adds the Gateways that a policy reaches by a target, or the target if it leads to none.
func (r reporter) ancestors(c *flow.Ctx, ref model.ObjectRef, t Target, facts *conditions.PolicyFacts) {
	switch kind, _ := r.Store.Of(ref.Kind()); {
	case t.Object.Kind() == model.KindGatewayClass:
		r.class(c, ref, t, facts)
	case t.Object.Kind() == model.KindGateway:
		r.gateway(c, ref, t, facts)
	case kind.AtRule() && (t.Object.Kind() == model.KindHTTPRoute || t.Object.Kind() == model.KindGRPCRoute):
		r.route(c, t, facts)
	case kind.has(extend.AtRuleBackend) && ruleBackends(t.Object.Kind()):
		r.ruleBackend(c, t, facts)
	case kind.has(extend.AtBackend) && t.Object.Kind() == model.KindService:
		r.service(c, ref, t, facts)
	case kind.has(extend.AtBackend) && t.Object.Kind() == model.KindXBackend:
		wholeBackend(c, r, r.in.Sources.XBackends.Collection(), ref, t, facts)
	case kind.has(extend.AtBackend) && t.Object.Kind() == model.KindInferencePool:
		wholeBackend(c, r, r.in.Sources.InferencePools.Collection(), ref, t, facts)
	default:
		why := fmt.Sprintf("a %s can't target a %s", ref.Kind(), t.Object.Kind())
		if kind.OfListeners() {
			why += ": it counts for connections; target a Gateway, or a listener of it by sectionName"
		}
		addTarget(facts, t, conditions.PolicyAncestor{Invalid: why})
	}
}

func addTarget(facts *conditions.PolicyFacts, t Target, a conditions.PolicyAncestor) {
	a.Object, a.Section = t.Object, t.Section
	facts.Ancestors = append(facts.Ancestors, a)
}

// addGateway adds a Gateway once.
func addGateway(facts *conditions.PolicyFacts, gateway model.ObjectRef, s resource.Standing) {
	for i, a := range facts.Ancestors {
		if a.Object == gateway && a.Missing+a.Invalid+a.Unserved == "" {
			facts.Ancestors[i].Standing.Acknowledged = a.Standing.Acknowledged && s.Acknowledged
			if a.Standing.Refused == "" {
				facts.Ancestors[i].Standing.Refused = s.Refused
			}
			return
		}
	}
	facts.Ancestors = append(facts.Ancestors, conditions.PolicyAncestor{Object: gateway, Standing: s})
}

func (r reporter) class(c *flow.Ctx, ref model.ObjectRef, t Target, facts *conditions.PolicyFacts) {
	_, found := flow.Fetch(c, r.in.Sources.GatewayClasses.Collection(), t.Object)
	members, used := flow.Fetch(c, r.named, t.Object)
	switch {
	case r.in.Namespace != "" && ref.Namespace() != r.in.Namespace:
		addTarget(facts, t, conditions.PolicyAncestor{Invalid: fmt.Sprintf(
			"only policies of namespace %s, which is Cardea's own, can target a GatewayClass", r.in.Namespace)})
	case !found:
		addTarget(facts, t, conditions.PolicyAncestor{Missing: r.absent(c, t.Object)})
	case !used:
		addTarget(facts, t, conditions.PolicyAncestor{Unserved: "no Gateway of Cardea's has the class"})
	}
	for g := range members.All() {
		addGateway(facts, g, r.atLevel(c, g, ref))
	}
}

func (r reporter) gateway(c *flow.Ctx, ref model.ObjectRef, t Target, facts *conditions.PolicyFacts) {
	names, found := r.in.sections(c, t.Object)
	if !found {
		addTarget(facts, t, conditions.PolicyAncestor{Missing: r.absent(c, t.Object)})
		return
	}
	if why := missing(t, "listener", names); why != "" {
		addTarget(facts, t, conditions.PolicyAncestor{Missing: why})
		return
	}
	if _, served := flow.Fetch(c, r.in.Plan.Gateways, t.Object); !served {
		addTarget(facts, t, conditions.PolicyAncestor{Unserved: "the Gateway is not served; see its status"})
		return
	}
	addGateway(facts, t.Object, r.atLevel(c, t.Object, ref))
}

// absent says why a target was not found: nobody declares it, or its declaration has a mistake.
func (r reporter) absent(c *flow.Ctx, ref model.ObjectRef) string {
	return input.Absent(c, r.in.Sources.Broken.Collection(), ref)
}

// missing says that a target has no section of its name, and which it has; "" if it has one, or none is named.
func missing(t Target, what string, names []string) string {
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
	return fmt.Sprintf("%s has no %s named %s; it has: %s", t.Object, what, t.Section, model.Listed(names))
}

// atLevel is the standing of what is rendered of a policy for a Gateway or its listeners.
func (r reporter) atLevel(c *flow.Ctx, gateway, policy model.ObjectRef) resource.Standing {
	key := resource.StandingKey{Gateway: gateway, Origin: resource.Origin{Object: policy}}
	if s, found := flow.Fetch(c, r.out.Settings, key); found {
		return s
	}
	// Nothing is rendered of it there: it has fields of routes, which tell in their own status, or nothing counts.
	g, _ := flow.Fetch(c, r.in.Plan.Gateways, gateway)
	_, proxied := flow.Fetch(c, r.proxied, gateway)
	return resource.Standing{Acknowledged: proxied || g.DataPlane.ReadsFiles()}
}

func (r reporter) route(c *flow.Ctx, t Target, facts *conditions.PolicyFacts) {
	names, found := r.in.sections(c, t.Object)
	if !found {
		addTarget(facts, t, conditions.PolicyAncestor{Missing: r.absent(c, t.Object)})
		return
	}
	if why := missing(t, "rule", names); why != "" {
		addTarget(facts, t, conditions.PolicyAncestor{Missing: why})
		return
	}
	route, _ := flow.Fetch(c, r.in.Plan.Routes, t.Object)
	r.rules(c, t, route, facts, func(rule model.Rule) bool { return t.Section == "" || rule.Key.Name == t.Section })
}

// rules adds the Gateways of a route that has rules which a policy reaches.
func (r reporter) rules(
	c *flow.Ctx, t Target, route model.Route, facts *conditions.PolicyFacts, reached func(model.Rule) bool,
) {
	if len(route.Gateways) == 0 {
		addTarget(facts, t, conditions.PolicyAncestor{Unserved: "no Gateway of Cardea's serves the route; see its status"})
		return
	}
	for _, g := range route.Gateways {
		addGateway(facts, g.Ref, r.ofRules(c, g.Ref, t.Object, route, reached))
	}
}

// ofRules is the standing of some rules of a route.
func (r reporter) ofRules(
	c *flow.Ctx, gateway, ref model.ObjectRef, route model.Route, reached func(model.Rule) bool,
) resource.Standing {
	all := resource.Standing{Acknowledged: true}
	at, _ := flow.Fetch(c, r.out.Routes, resource.RouteKey{Gateway: gateway, Route: ref})
	for i, s := range at.At(func(model.ListenerKey) bool { return true }) {
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
