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
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/budget"
	"cardea.dev/cardea/internal/translate/resolve"
)

// attachments tells where a route serves.
type attachments struct {
	Created  time.Time    // the route was; zero: not stated
	Parents  []attachment // those that are Gateways of this controller
	Findings []model.Finding
}

// has tells whether a parentRef leads to a listener.
func (a attachments) has(listener model.ListenerKey) bool {
	return slices.ContainsFunc(a.Parents, func(p attachment) bool { return p.has(listener) })
}

// gateways are those that the route is attached to.
func (a attachments) gateways() (list []model.RouteGateway) {
	for _, p := range a.Parents {
		if len(p.Listeners) > 0 && !slices.Contains(list, p.Gateway) {
			list = append(list, p.Gateway)
		}
	}
	return list
}

// attachment is one parentRef of a route, answered.
type attachment struct {
	Parent    model.ParentRef
	Index     int // in spec.parentRefs
	Gateway   model.RouteGateway
	Listeners []attached // none: not attached
	Findings  []model.Finding
}

// answered looks up the parentRefs of a route.
func answered(
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

// has tells whether the parentRef leads to a listener.
func (a attachment) has(listener model.ListenerKey) bool {
	return slices.ContainsFunc(a.Listeners, func(l attached) bool { return l.Key == listener })
}

// domains counts those that it leads to, at all listeners.
func (a attachment) domains() (n int) {
	for _, l := range a.Listeners {
		n += len(l.Domains)
	}
	return n
}

// attached is a listener that takes a route.
type attached struct {
	Key     model.ListenerKey
	Port    model.PortKey
	Domains []model.Domain
}

// attacher is where the Gateways are looked up that routes name.
type attacher struct {
	views      *flow.Collection[model.ObjectRef, gatewayView]
	gateways   *input.Collection[gatewayv1.GatewaySpec]
	unclassed  *flow.Collection[model.ObjectRef, []model.Finding]
	neighbours neighbours
	namespaces *input.Collection[input.NamespaceSpec]
}

func (at attacher) httpRoute(
	c *flow.Ctx, ref model.ObjectRef, o input.Object[gatewayv1.HTTPRouteSpec],
) (attachments, bool) {
	return at.attach(c, ref, o.Meta, o.Spec.ParentRefs, o.Spec.Hostnames), true
}

func (at attacher) grpcRoute(
	c *flow.Ctx, ref model.ObjectRef, o input.Object[gatewayv1.GRPCRouteSpec],
) (attachments, bool) {
	return at.attach(c, ref, o.Meta, o.Spec.ParentRefs, o.Spec.Hostnames), true
}

// attach answers each parentRef of a route.
func (at attacher) attach(
	c *flow.Ctx, ref model.ObjectRef, meta model.Meta, parents []gatewayv1.ParentReference, hostnames []gatewayv1.Hostname,
) attachments {
	a := attachments{Created: meta.Created}
	for i, p := range parents {
		parent := parentRef(ref, p)
		if parent.Group != gatewayv1.GroupName || parent.Kind != "Gateway" {
			continue
		}
		gateway := model.Ref(model.KindGateway, parent.Namespace, parent.Name)
		view, ours := flow.Fetch(c, at.views, gateway)
		field := fmt.Sprintf("spec.parentRefs[%d]", i)
		if !ours {
			severity, message := at.notOurs(c, gateway)
			a.Findings = append(a.Findings, model.Finding{
				Object: ref, Parent: parent, Severity: severity, Field: field, Message: message,
			})
			continue
		}
		found := attachment{Parent: parent, Index: i, Gateway: model.RouteGateway{Ref: gateway, DataPlane: view.DataPlane}}
		var why unusable
		found.Listeners, why = at.listeners(c, ref, hostnames, parent, view)
		if !why.none() {
			found.Findings = append(found.Findings, model.Finding{
				Object: ref, Parent: parent, Condition: "Accepted", Reason: why.reason, Field: field, Message: why.message,
			})
		}
		a.Parents = append(a.Parents, found)
	}
	return a
}

// notOurs says why a Gateway is not ours: nobody serves it, another controller does, or it does not exist.
func (at attacher) notOurs(c *flow.Ctx, gateway model.ObjectRef) (model.Severity, string) {
	o, exists := flow.Fetch(c, at.gateways, gateway)
	if !exists {
		return model.Error, at.neighbours.gateway(c, gateway)
	}
	if list, nobodys := flow.Fetch(c, at.unclassed, gateway); nobodys {
		return model.Warning, fmt.Sprintf("%s: %s", gateway, list[0].Message)
	}
	return model.Warning, fmt.Sprintf("%s is served by another controller: its class is GatewayClass %s", gateway,
		o.Spec.GatewayClassName)
}

// listeners lists the listeners of a Gateway that take a route; if none does, the reason says which step ruled out the
// last.
func (at attacher) listeners(
	c *flow.Ctx, ref model.ObjectRef, hostnames []gatewayv1.Hostname, parent model.ParentRef, view gatewayView,
) (list []attached, why unusable) {
	is := func(l listenerView) bool { return isNamed(l, parent) }
	does := func(l listenerView) bool { return is(l) && at.accepts(c, l, ref) }
	for _, l := range view.Listeners {
		if !does(l) {
			continue
		}
		if domains := resolve.Hostnames(l.Hostname, hostnames); len(domains) > 0 {
			list = append(list, attached{Key: l.Key, Port: l.Port, Domains: domains})
		}
	}
	if len(list) > 0 {
		return list, unusable{}
	}
	named := those(view.Listeners, is)
	allowed := those(named, does)
	switch {
	case len(named) == 0:
		return nil, unusable{"NoMatchingParent", noListener(parent, view)}
	case len(allowed) == 0:
		return nil, unusable{"NotAllowedByListeners", denials(named, ref)}
	}
	return nil, unusable{"NoMatchingListenerHostname", noHostname(hostnames, allowed)}
}

func those(listeners []listenerView, are func(listenerView) bool) []listenerView {
	return slices.DeleteFunc(slices.Clone(listeners), func(l listenerView) bool { return !are(l) })
}

// isNamed tells whether a parentRef is about a listener.
func isNamed(l listenerView, parent model.ParentRef) bool {
	return (parent.Section == "" || parent.Section == l.Key.Section) && (parent.Port == 0 || parent.Port == l.Port.Number)
}

// noListener says which listeners a Gateway has in place of the one that a parentRef names.
func noListener(parent model.ParentRef, view gatewayView) string {
	gateway := parent.Namespace + "/" + parent.Name
	var names, ports []string
	for _, l := range view.Listeners {
		if l.Key.Section == parent.Section {
			return fmt.Sprintf("listener %s of %s has port %d, not %d", parent.Section, gateway, l.Port.Number, parent.Port)
		}
		names = append(names, l.Key.Section)
		ports = append(ports, fmt.Sprintf("%d (%s)", l.Port.Number, l.Key.Section))
	}
	if parent.Section == "" {
		return fmt.Sprintf("%s has no listener of port %d; it has %s", gateway, parent.Port, listed(ports))
	}
	return fmt.Sprintf("%s has no listener %q; it has %s", gateway, parent.Section, listed(names))
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
	return fmt.Sprintf("%s %s no listener: %s", listed(words(hostnames)), verb, listed(have))
}

// accepts tells whether a listener takes routes like this one.
func (at attacher) accepts(c *flow.Ctx, l listenerView, route model.ObjectRef) bool {
	if !slices.Contains(l.Kinds, route.Kind()) {
		return false
	}
	switch l.From {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return route.Namespace() == l.Key.Parent.Namespace()
	case gatewayv1.NamespacesFromSelector:
		selects, err := metav1.LabelSelectorAsSelector(l.Selector) // of nil: nothing
		if err != nil {
			return false
		}
		o, _ := flow.Fetch(c, at.namespaces, model.Ref(model.KindNamespace, "", route.Namespace()))
		return selects.Matches(labels.Set(o.Meta.Labels.Map()))
	}
	return false
}

// denials say which routes some listeners accept. None of them accepts this route.
func denials(listeners []listenerView, route model.ObjectRef) string {
	all := make([]string, len(listeners))
	for i, l := range listeners {
		all[i] = fmt.Sprintf("listener %s of %s accepts %s", l.Key.Section, l.Key.Parent.NamespacedName(),
			accepted(l, route.Kind()))
	}
	return listed(all)
}

// accepted says which routes a listener accepts, for a message about a route of the kind that it does not accept.
func accepted(l listenerView, kind model.Kind) string {
	switch {
	case len(l.Kinds) == 0:
		return fmt.Sprintf("no %ss", kind)
	case !slices.Contains(l.Kinds, kind):
		return fmt.Sprintf("%ss only", l.Kinds[0])
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

// attachedListeners are the listeners that count the route in attachedRoutes.
func attachedListeners(_ model.ObjectRef, a attachments) []model.ListenerKey {
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
