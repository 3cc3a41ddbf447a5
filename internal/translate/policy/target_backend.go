package policy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/conditions"
)

// addServiceTarget adds the Gateways that use a Service, or a port of it.
func (r reporter) addServiceTarget(c *flow.Ctx, ref model.ObjectRef, t Target, facts *conditions.PolicyFacts) {
	o, found := flow.Fetch(c, r.inputs.Sources.Services.Collection(), t.Object)
	if !found {
		addTarget(facts, t, conditions.PolicyAncestor{Missing: r.describeAbsent(c, t.Object)})
		return
	}
	var names []string
	for _, p := range o.Spec.Ports {
		if p.Name != "" && (p.Protocol == "" || p.Protocol == corev1.ProtocolTCP) {
			names = append(names, p.Name)
		}
	}
	if why := describeMissingSection(t, "port", names); why != "" {
		addTarget(facts, t, conditions.PolicyAncestor{Missing: why})
		return
	}
	r.addBackendTarget(c, ref, t, facts)
}

// backend is what objects of a kind are as backends; nil: they are none.
func (s *Store) backend(of model.Kind) *kind.Backend { return s.in.Catalog.FindKind(of).AsBackend() }

// ruleBackends tells whether policies for the requests that rules send to a backend can target objects of a
// kind.
func (s *Store) ruleBackends(of model.Kind) bool { return s.backend(of).Can(kind.ForRules) }

// withGroup is an XBackend with its group, where another's of its name may be meant.
func withGroup(ref model.ObjectRef) string {
	return fmt.Sprintf("%s of group %s", ref, ref.Kind().Group())
}

// addRuleBackendTarget adds the Gateways with rules that send requests to an XBackend.
func (r reporter) addRuleBackendTarget(c *flow.Ctx, t Target, facts *conditions.PolicyFacts) {
	if !r.exists(c, t.Object) {
		addTarget(facts, t, conditions.PolicyAncestor{Missing: r.describeAbsent(c, t.Object)})
		return
	}
	users, _ := flow.Fetch(c, r.users, t.Object)
	uses := func(rule model.Rule) bool {
		return slices.ContainsFunc(rule.Backends, func(b model.WeightedBackend) bool { return b.Backend.Object == t.Object })
	}
	served := false
	for ref := range users.All() {
		route, _ := flow.Fetch(c, r.inputs.Plan.Routes, ref)
		for _, g := range route.Gateways {
			served = true
			addGateway(facts, g.Ref, r.ofRules(c, g.Ref, ref, route, uses))
		}
	}
	if !served {
		addTarget(facts, t, conditions.PolicyAncestor{
			Unserved: "no route of a Gateway that Cardea serves sends requests to it",
		})
	}
}

// exists tells whether an object of a kind of the catalog is there.
func (r reporter) exists(c *flow.Ctx, ref model.ObjectRef) bool {
	_, found := flow.FetchProjected(c, r.inputs.Sources.KindSource(ref.Kind()).Objects(), ref)
	return found
}

// wholeBackend adds the Gateways that use an object that has no sections.
func (r reporter) wholeBackend(c *flow.Ctx, ref model.ObjectRef, t Target, facts *conditions.PolicyFacts) {
	if !r.exists(c, t.Object) {
		addTarget(facts, t, conditions.PolicyAncestor{Missing: r.describeAbsent(c, t.Object)})
		return
	}
	r.addBackendTarget(c, ref, t, facts)
}

func (r reporter) addBackendTarget(c *flow.Ctx, ref model.ObjectRef, t Target, facts *conditions.PolicyFacts) {
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
			Unserved: "no route of a Gateway that Cardea serves sends requests to it",
		})
	}
}
