package policy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/conditions"
)

// service adds the Gateways that use a Service, or a port of it.
func (r reporter) service(c *flow.Ctx, ref model.ObjectRef, t Target, facts *conditions.PolicyFacts) {
	o, found := flow.Fetch(c, r.in.Sources.Services.Collection(), t.Object)
	if !found {
		addTarget(facts, t, conditions.PolicyAncestor{Missing: r.absent(c, t.Object)})
		return
	}
	var names []string
	for _, p := range o.Spec.Ports {
		if p.Name != "" && (p.Protocol == "" || p.Protocol == corev1.ProtocolTCP) {
			names = append(names, p.Name)
		}
	}
	if why := missing(t, "port", names); why != "" {
		addTarget(facts, t, conditions.PolicyAncestor{Missing: why})
		return
	}
	r.backend(c, ref, t, facts)
}

// ruleBackends tells whether policies for the requests that rules send to a backend can target objects of a kind.
func ruleBackends(kind model.Kind) bool {
	return kind == model.KindXBackend || kind == model.KindMCPBackend
}

// grouped is an XBackend with its group, where another's of its name may be meant.
func grouped(ref model.ObjectRef) string {
	return fmt.Sprintf("%s of group %s", ref, ref.Kind().Group())
}

// ruleBackend adds the Gateways with rules that send requests to an XBackend.
func (r reporter) ruleBackend(c *flow.Ctx, t Target, facts *conditions.PolicyFacts) {
	_, found := flow.Fetch(c, r.in.Sources.XBackends.Collection(), t.Object)
	if t.Object.Kind() == model.KindMCPBackend {
		_, found = flow.Fetch(c, r.in.Sources.MCPBackends.Collection(), t.Object)
	}
	if !found {
		addTarget(facts, t, conditions.PolicyAncestor{Missing: r.absent(c, t.Object)})
		return
	}
	users, _ := flow.Fetch(c, r.users, t.Object)
	uses := func(rule model.Rule) bool {
		return slices.ContainsFunc(rule.Backends, func(b model.WeightedBackend) bool { return b.Backend.Object == t.Object })
	}
	served := false
	for ref := range users.All() {
		route, _ := flow.Fetch(c, r.in.Plan.Routes, ref)
		for _, g := range route.Gateways {
			served = true
			addGateway(facts, g.Ref, r.ofRules(c, g.Ref, ref, route, uses))
		}
	}
	if !served {
		addTarget(facts, t, conditions.PolicyAncestor{
			Unserved: "no route that a Gateway of Cardea's serves sends requests to it",
		})
	}
}

// wholeBackend adds the Gateways that use an object that has no sections.
func wholeBackend[S any](
	c *flow.Ctx, r reporter, of *input.Collection[S], ref model.ObjectRef, t Target, facts *conditions.PolicyFacts,
) {
	if _, found := flow.Fetch(c, of, t.Object); !found {
		addTarget(facts, t, conditions.PolicyAncestor{Missing: r.absent(c, t.Object)})
		return
	}
	r.backend(c, ref, t, facts)
}

func (r reporter) backend(c *flow.Ctx, ref model.ObjectRef, t Target, facts *conditions.PolicyFacts) {
	members, _ := flow.Fetch(c, r.backends, t.Object)
	served := false
	for k, b := range members.All() {
		if t.Section == "" || t.Section == b.Port {
			served = true
			addGateway(facts, k.Gateway, r.atLevel(c, k.Gateway, ref))
		}
	}
	if !served {
		addTarget(facts, t, conditions.PolicyAncestor{
			Unserved: "no route that a Gateway of Cardea's serves sends requests to it",
		})
	}
}
