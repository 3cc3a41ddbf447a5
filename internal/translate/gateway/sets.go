package gateway

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/translate/conditions"
	"cardea.dev/cardea/internal/translate/precedence"
	"cardea.dev/cardea/internal/translate/route"
)

// setFacts is a ListenerSet, as its Gateway sees it.
type setFacts struct {
	Gateway    model.ObjectRef
	Order      string // its precedence among those of the Gateway
	NotAllowed string // why the Gateway does not permit it; "": it does
	Listeners  []gatewayv1.Listener
	Unknown    []string // fields of it that this version does not know
}

type setObject = input.Object[gatewayv1.ListenerSetSpec]

// setMembers are the ListenerSets that name a Gateway, the oldest first.
type setMembers = flow.Members[model.ObjectRef, setFacts]

// newSets has the ListenerSets of Gateways that there are.
func newSets(in *kinds.Sources) *flow.Collection[model.ObjectRef, setFacts] {
	return flow.Map(in.ListenerSets.Collection(), "set",
		func(c *flow.Ctx, ref model.ObjectRef, o setObject) (s setFacts, found bool) {
			s.Gateway, s.Order = parentGateway(ref, o.Spec), precedence.AgeOrder(o.Meta.Created)+" "+ref.NamespacedName()
			gateway, found := flow.Fetch(c, in.Gateways.Collection(), s.Gateway)
			if !found {
				return s, false
			}
			if s.NotAllowed = setDenial(c, in, s.Gateway, allowedSets(gateway.Spec), ref); s.NotAllowed == "" {
				s.Unknown = o.Meta.Unknown
				for _, l := range o.Spec.Listeners {
					s.Listeners = append(s.Listeners, gatewayv1.Listener(l))
				}
			}
			return s, true
		})
}

// setsByGateway are all sets by their Gateway.
func setsByGateway(sets *flow.Collection[model.ObjectRef, setFacts]) *flow.Collection[model.ObjectRef, setMembers] {
	return flow.Group(sets, "sets by gateway",
		func(_ model.ObjectRef, s setFacts) []model.ObjectRef { return []model.ObjectRef{s.Gateway} },
		func(_ model.ObjectRef, s setFacts) string { return s.Order })
}

// parentGateway is the Gateway that a set names; a reference to another kind leads to nothing.
func parentGateway(set model.ObjectRef, spec *gatewayv1.ListenerSetSpec) model.ObjectRef {
	of := spec.ParentRef
	p := route.ParentRef(set, gatewayv1.ParentReference{
		Group: of.Group, Kind: of.Kind, Namespace: of.Namespace, Name: of.Name,
	})
	return model.Ref(model.KindOf(p.Group, p.Kind), p.Namespace, p.Name)
}

// allowedSets is which namespaces a Gateway takes ListenerSets of.
func allowedSets(spec *gatewayv1.GatewaySpec) namespaceRule {
	a := spec.AllowedListeners
	if a == nil || a.Namespaces == nil || a.Namespaces.From == nil {
		return namespaceRule{From: gatewayv1.NamespacesFromNone}
	}
	return namespaceRule{*a.Namespaces.From, a.Namespaces.Selector}
}

// setDenial is why a Gateway does not permit a set; "": it does.
func setDenial(
	c *flow.Ctx, in *kinds.Sources, gateway model.ObjectRef, allowed namespaceRule, set model.ObjectRef,
) string {
	if allowed.permits(c, in.Namespaces.Collection(), gateway.Namespace(), set.Namespace()) {
		return ""
	}
	const field = "spec.allowedListeners.namespaces"
	switch allowed.From {
	case gatewayv1.NamespacesFromSame:
		return fmt.Sprintf("%s accepts ListenerSets of its own namespace only (%s.from: Same)", gateway, field)
	case gatewayv1.NamespacesFromSelector:
		if _, err := metav1.LabelSelectorAsSelector(allowed.Selector); err != nil {
			return fmt.Sprintf("%s accepts no ListenerSet: %s.selector is invalid (%v)", gateway, field, err)
		}
		return fmt.Sprintf("%s accepts ListenerSets of namespaces with the labels %s only (%s.selector)", gateway,
			metav1.FormatLabelSelector(allowed.Selector), field)
	}
	return fmt.Sprintf("%s accepts no ListenerSet; permit it in its %s.from", gateway, field)
}

// countSets counts the ListenerSets that are attached to a Gateway (GatewayStatus.attachedListenerSets).
func (m *Translator) countSets(
	c *flow.Ctx, out resource.Outputs, facts conditions.GatewayFacts, gateway model.ObjectRef, g gatewayFacts,
) *int32 {
	n, sets := int32(0), map[model.ObjectRef]bool{}
	for _, view := range g.Listeners {
		set := view.Key.Parent
		if set == gateway || sets[set] {
			continue
		}
		sets[set] = true
		if listeners, _ := m.listenerReports(c, out, gateway, g, set); conditions.IsAttached(facts, listeners) {
			n++
		}
	}
	return &n
}

// setReport reports on a ListenerSet of a Gateway of this controller.
func (m *Translator) setReport(
	out resource.Outputs, f *resource.Feedback,
) func(*flow.Ctx, model.ObjectRef, setObject) (plan.Report[gatewayv1.ListenerSetStatus], bool) {
	return func(c *flow.Ctx, ref model.ObjectRef, o setObject) (r plan.Report[gatewayv1.ListenerSetStatus], some bool) {
		gateway := parentGateway(ref, o.Spec)
		g, ours := flow.Fetch(c, m.gateways, gateway)
		if !ours {
			return r, false
		}
		set, _ := flow.Fetch(c, m.sets, ref)
		facts := conditions.ListenerSetFacts{
			Generation: o.Meta.Generation, NotAllowed: set.NotAllowed, Ref: gateway,
			Affected: m.Policies.AffectingPolicies(c, ref, "", false),
		}
		var looked bool
		facts.Gateway, looked = m.proxyFacts(c, f, gateway, g)
		facts.Listeners, r.Findings = m.listenerReports(c, out, gateway, g, ref)
		if facts.NotAllowed != "" {
			r.Findings = append(r.Findings, model.Finding{
				Object: ref, Condition: "Accepted", Reason: "NotAllowed", Field: "spec.parentRef", Message: facts.NotAllowed,
			})
		}
		r.UID, r.Status, r.Tentative = o.Meta.UID, conditions.ListenerSetStatus(facts), !looked
		return r, true
	}
}

// findOrphanSets finds ListenerSets whose Gateway does not exist, or is another controller's.
func (m *Translator) findOrphanSets(
	c *flow.Ctx, ref model.ObjectRef, o setObject,
) (list []model.Finding, some bool) {
	gateway := parentGateway(ref, o.Spec)
	if _, ours := flow.Fetch(c, m.gateways, gateway); ours {
		return nil, false
	}
	f := model.Finding{Object: ref, Field: "spec.parentRef"}
	if gateway.Kind() != model.KindGateway {
		f.Message = fmt.Sprintf("a ListenerSet adds listeners to a Gateway, not to %s", gateway)
	} else {
		f.Severity, f.Message = m.attacher.notOurs(c, gateway)
	}
	return []model.Finding{f}, true
}
