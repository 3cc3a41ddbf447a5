package gateway

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/budget"
	"cardea.dev/cardea/internal/translate/problem"
	"cardea.dev/cardea/internal/translate/resolve"
	"cardea.dev/cardea/internal/translate/route"
)

// attachments tells where a route serves.
type attachments struct {
	Created  time.Time    // the route was; zero: not stated
	Parents  []attachment // those that are Gateways of this controller
	Findings []model.Finding
}

// hasListener tells whether a ParentRef leads to a listener.
func (a attachments) hasListener(listener model.ListenerKey) bool {
	return slices.ContainsFunc(a.Parents, func(p attachment) bool { return p.hasListener(listener) })
}

// attachedGateways are those that the route is attached to.
func (a attachments) attachedGateways() (list []model.RouteGateway) {
	for _, p := range a.Parents {
		if len(p.Listeners) > 0 && !slices.Contains(list, p.Gateway) {
			list = append(list, p.Gateway)
		}
	}
	return list
}

// attachment is one ParentRef of a route, answered.
type attachment struct {
	Parent    model.ParentRef
	Index     int // in spec.parentRefs
	Gateway   model.RouteGateway
	Listeners []acceptingListener // none: not attached
	Findings  []model.Finding
}

// newParentLookup looks up the parentRefs of a route.
func newParentLookup(
	all *flow.Collection[model.ObjectRef, attachments],
) func(*flow.Ctx, model.ObjectRef) []budget.Parent {
	return func(c *flow.Ctx, ref model.ObjectRef) (list []budget.Parent) {
		a, _ := flow.Fetch(c, all, ref)
		for _, p := range a.Parents {
			list = append(list, budget.Parent{Ref: p.Parent, Gateway: p.Gateway.Ref})
		}
		return list
	}
}

// hasListener tells whether the ParentRef leads to a listener.
func (a attachment) hasListener(listener model.ListenerKey) bool {
	return slices.ContainsFunc(a.Listeners, func(l acceptingListener) bool { return l.Key == listener })
}

// countDomains counts those that it leads to, at all listeners.
func (a attachment) countDomains() (n int) {
	for _, l := range a.Listeners {
		n += len(l.Domains)
	}
	return n
}

// acceptingListener is a listener that takes a route.
type acceptingListener struct {
	Key     model.ListenerKey
	Port    model.PortKey
	Carries model.Carried // see model.RouteListener
	Domains []model.Domain
}

// attacher is where the Gateways are looked up that routes name.
type attacher struct {
	views       *flow.Collection[model.ObjectRef, gatewayView]
	gateways    *input.Collection[gatewayv1.GatewaySpec]
	sets        *input.Collection[gatewayv1.ListenerSetSpec]
	unclassed   *flow.Collection[model.ObjectRef, []model.Finding]
	suggestions nameSuggestions
	namespaces  *input.Collection[input.NamespaceSpec]
}

// of answers the parentRefs of routes of a kind.
func (at attacher) of(k *kind.Kind) func(*flow.Ctx, model.ObjectRef, kind.UntypedObject) (attachments, bool) {
	return func(c *flow.Ctx, ref model.ObjectRef, o kind.UntypedObject) (attachments, bool) {
		spec := k.Route.Spec(o.Spec)
		return at.resolveParents(c, ref, o.Meta, spec.ParentRefs, spec.Hostnames), true
	}
}

// resolveParents answers each ParentRef of a route.
func (at attacher) resolveParents(
	c *flow.Ctx, ref model.ObjectRef, meta model.Meta, parents []gatewayv1.ParentReference, hostnames []gatewayv1.Hostname,
) attachments {
	a := attachments{Created: meta.Created}
	for i, p := range parents {
		parent := route.ParentRef(ref, p)
		object := model.Ref(model.KindOf(parent.Group, parent.Kind), parent.Namespace, parent.Name)
		field := fmt.Sprintf("spec.parentRefs[%d]", i)
		gateway := object
		switch object.Kind() {
		case model.KindGateway:
		case model.KindListenerSet:
			set, exists := flow.Fetch(c, at.sets, object)
			if !exists {
				a.Findings = append(a.Findings, model.Finding{Object: ref, Parent: parent, Field: field,
					Message: input.DescribeAbsent(c, at.suggestions.broken, object)})
				continue
			}
			gateway = parentGateway(object, set.Spec)
		default:
			continue
		}
		view, ours := flow.Fetch(c, at.views, gateway)
		if !ours {
			severity, message := at.notOurs(c, gateway)
			a.Findings = append(a.Findings, model.Finding{
				Object: ref, Parent: parent, Severity: severity, Field: field, Message: message,
			})
			continue
		}
		found := attachment{Parent: parent, Index: i, Gateway: model.RouteGateway{Ref: gateway, DataPlane: view.DataPlane}}
		var why problem.Unusable
		view.Listeners = filterListeners(view.Listeners, func(l listenerView) bool { return l.Key.Parent == object })
		found.Listeners, why = at.acceptingListeners(c, ref, hostnames, parent, view)
		if !why.IsZero() {
			found.Findings = append(found.Findings, model.Finding{
				Object: ref, Parent: parent, Condition: "Accepted", Reason: why.Reason, Field: field, Message: why.Message,
			})
		}
		a.Parents = append(a.Parents, found)
	}
	a.Findings = append(a.Findings, unattachedFindings(ref, parents, hostnames)...)
	return a
}

// notOurs says why a Gateway is not ours: nobody serves it, another controller does, or it does not exist.
func (at attacher) notOurs(c *flow.Ctx, gateway model.ObjectRef) (model.Severity, string) {
	o, exists := flow.Fetch(c, at.gateways, gateway)
	if !exists {
		return model.Error, at.suggestions.describeMissingGateway(c, gateway)
	}
	if list, nobodys := flow.Fetch(c, at.unclassed, gateway); nobodys {
		return model.Warning, fmt.Sprintf("%s: %s", gateway, list[0].Message)
	}
	return model.Warning, fmt.Sprintf("%s is served by another controller: its class is GatewayClass %s", gateway,
		o.Spec.GatewayClassName)
}

// acceptingListeners lists the listeners of a Gateway that take a route; if none does, the reason says which step ruled
// out the last.
func (at attacher) acceptingListeners(
	c *flow.Ctx, ref model.ObjectRef, hostnames []gatewayv1.Hostname, parent model.ParentRef, view gatewayView,
) (list []acceptingListener, why problem.Unusable) {
	is := func(l listenerView) bool { return isNamed(l, parent) }
	does := func(l listenerView) bool { return is(l) && at.acceptsRoute(c, l, ref) }
	for _, l := range view.Listeners {
		if !does(l) {
			continue
		}
		if domains := resolve.IntersectHostnames(l.Hostname, hostnames); len(domains) > 0 {
			list = append(list, acceptingListener{Key: l.Key, Port: l.Port, Carries: l.Carries, Domains: domains})
		}
	}
	if len(list) > 0 {
		return list, problem.Unusable{}
	}
	named := filterListeners(view.Listeners, is)
	allowed := filterListeners(named, does)
	switch {
	case len(named) == 0:
		return nil, problem.Unusable{Reason: "NoMatchingParent", Message: noListener(parent, view)}
	case len(allowed) == 0:
		return nil, problem.Unusable{Reason: "NotAllowedByListeners", Message: describeDenials(named, ref)}
	}
	return nil, problem.Unusable{Reason: "NoMatchingListenerHostname", Message: noHostname(hostnames, allowed)}
}

func filterListeners(listeners []listenerView, are func(listenerView) bool) []listenerView {
	return slices.DeleteFunc(slices.Clone(listeners), func(l listenerView) bool { return !are(l) })
}

// isNamed tells whether a ParentRef is about a listener.
func isNamed(l listenerView, parent model.ParentRef) bool {
	return (parent.Section == "" || parent.Section == l.Key.Section) && (parent.Port == 0 || parent.Port == l.Port.Number)
}

// noListener says which listeners a Gateway has in place of the one that a ParentRef names.
func noListener(parent model.ParentRef, view gatewayView) string {
	gateway := parent.Namespace + "/" + parent.Name
	if len(view.Listeners) == 0 {
		return fmt.Sprintf("the listeners of %s %s are not served; see its status", parent.Kind, gateway)
	}
	var names, ports []string
	for _, l := range view.Listeners {
		if l.Key.Section == parent.Section {
			return fmt.Sprintf("listener %s of %s has port %d, not %d", parent.Section, gateway, l.Port.Number, parent.Port)
		}
		names = append(names, l.Key.Section)
		ports = append(ports, fmt.Sprintf("%d (%s)", l.Port.Number, l.Key.Section))
	}
	if parent.Section == "" {
		return fmt.Sprintf("%s has no listener of port %d; it has %s", gateway, parent.Port, model.JoinSome(ports))
	}
	return fmt.Sprintf("%s has no listener %q; it has %s", gateway, parent.Section, model.JoinSome(names))
}

// noHostname says which hostnames the listeners have that would take a route if they shared one with it.
func noHostname(hostnames []gatewayv1.Hostname, listeners []listenerView) string {
	have := make([]string, len(listeners))
	for i, l := range listeners {
		have[i] = fmt.Sprintf("%s has %s", l.Key.Section, l.Hostname)
	}
	verb := "matches"
	if len(hostnames) > 1 {
		verb = "match"
	}
	return fmt.Sprintf("%s %s no listener: %s", model.JoinSome(problem.ToStrings(hostnames)), verb, model.JoinSome(have))
}

// acceptsRoute tells whether a listener takes routes like this one.
func (at attacher) acceptsRoute(c *flow.Ctx, l listenerView, route model.ObjectRef) bool {
	if !slices.Contains(l.Kinds, route.Kind()) {
		return false
	}
	allowed := namespaceRule{l.From, l.Selector}
	return allowed.permits(c, at.namespaces, l.Key.Parent.Namespace(), route.Namespace())
}

// namespaceRule is which namespaces may attach something to an object: routes to a listener, ListenerSets to a Gateway.
type namespaceRule struct {
	From     gatewayv1.FromNamespaces
	Selector *metav1.LabelSelector
}

// permits tells whether a namespace may attach something to an object of the namespace own.
func (r namespaceRule) permits(
	c *flow.Ctx, namespaces *input.Collection[input.NamespaceSpec], own, namespace string,
) bool {
	switch r.From {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return namespace == own
	case gatewayv1.NamespacesFromSelector:
		selects, err := metav1.LabelSelectorAsSelector(r.Selector) // of nil: nothing
		if err != nil {
			return false
		}
		o, _ := flow.Fetch(c, namespaces, model.Ref(model.KindNamespace, "", namespace))
		return selects.Matches(labels.Set(o.Meta.Labels.ToMap()))
	}
	return false
}

// describeDenials say which routes some listeners accept. None of them accepts this route.
func describeDenials(listeners []listenerView, route model.ObjectRef) string {
	all := make([]string, len(listeners))
	for i, l := range listeners {
		all[i] = fmt.Sprintf("listener %s of %s %s", l.Key.Section, l.Key.Parent.NamespacedName(),
			describeDenial(l, route.Kind()))
	}
	return model.JoinSome(all)
}

// describeDenial says why a listener does not take a route of a kind.
func describeDenial(l listenerView, kind model.Kind) string {
	if len(l.Kinds) == 0 && !l.Valid {
		return "does not serve: see its error"
	}
	return "accepts " + describeAccepted(l, kind)
}

// describeAccepted says which routes a listener accepts, for a message about a route of the kind that it does not
// accept.
func describeAccepted(l listenerView, kind model.Kind) string {
	switch {
	case len(l.Kinds) == 0:
		return fmt.Sprintf("no %ss", kind)
	case !slices.Contains(l.Kinds, kind):
		names := kindNames(l.Kinds)
		for i := range names {
			names[i] += "s"
		}
		return model.JoinChoices(names) + " only"
	case l.From == gatewayv1.NamespacesFromSame:
		return fmt.Sprintf("routes of namespace %s only", l.Key.Parent.Namespace())
	case l.From != gatewayv1.NamespacesFromSelector:
		return "routes of no namespace"
	case l.Selector == nil:
		return "routes of no namespace: its allowedRoutes.namespaces has no selector"
	}
	if _, err := metav1.LabelSelectorAsSelector(l.Selector); err != nil {
		return fmt.Sprintf("routes of no namespace: its selector is invalid (%v)", err)
	}
	return fmt.Sprintf("routes of namespaces with the labels %s only", metav1.FormatLabelSelector(l.Selector))
}

// listenerKeysOf are the listeners that count the route in attachedRoutes.
func listenerKeysOf(_ model.ObjectRef, a attachments) []model.ListenerKey {
	var list []model.ListenerKey
	for _, p := range a.Parents {
		for _, l := range p.Listeners {
			if !slices.Contains(list, l.Key) {
				list = append(list, l.Key)
			}
		}
	}
	return list
}
