package gateway

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resolve"
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

type attacher struct {
	views      *flow.Collection[model.ObjectRef, gatewayView]
	gateways   *input.Collection[gatewayv1.GatewaySpec]
	broken     *broken
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
		if !ours {
			f := model.Finding{Object: ref, Parent: parent, Field: fmt.Sprintf("spec.parentRefs[%d]", i)}
			if _, foreign := flow.Fetch(c, at.gateways, gateway); foreign {
				f.Severity, f.Message = model.Warning,
					fmt.Sprintf("the class of %s belongs to another controller, or does not exist", gateway)
			} else {
				f.Message = absent(c, at.broken, gateway)
			}
			a.Findings = append(a.Findings, f)
			continue
		}
		found := attachment{Parent: parent, Index: i, Gateway: model.RouteGateway{Ref: gateway, DataPlane: view.DataPlane}}
		var refusal model.Finding
		found.Listeners, refusal = at.listeners(c, ref, hostnames, parent, view)
		if len(found.Listeners) == 0 {
			refusal.Object, refusal.Parent, refusal.Condition, refusal.Field = ref, parent, "Accepted",
				fmt.Sprintf("spec.parentRefs[%d]", i)
			found.Findings = append(found.Findings, refusal)
		}
		a.Parents = append(a.Parents, found)
	}
	return a
}

// listeners lists the listeners of a Gateway that take a route; if none does, the finding says which step ruled out the
// last.
func (at attacher) listeners(
	c *flow.Ctx, ref model.ObjectRef, hostnames []gatewayv1.Hostname, parent model.ParentRef, view gatewayView,
) ([]attached, model.Finding) {
	var named, allowed int
	var list []attached
	for _, l := range view.Listeners {
		if (parent.Section != "" && parent.Section != l.Key.Section) || (parent.Port != 0 && parent.Port != l.Port.Number) {
			continue
		}
		named++
		if !slices.Contains(l.Kinds, ref.Kind()) || !at.namespaceAllowed(c, l, ref.Namespace()) {
			continue
		}
		allowed++
		if domains := resolve.Hostnames(l.Hostname, hostnames); len(domains) > 0 {
			list = append(list, attached{Key: l.Key, Port: l.Port, Domains: domains})
		}
	}
	switch {
	case named == 0:
		return nil, model.Finding{Reason: "NoMatchingParent",
			Message: "the Gateway has no listener with this sectionName and port"}
	case allowed == 0:
		return nil, model.Finding{
			Reason: "NotAllowedByListeners",
			Message: fmt.Sprintf("no such listener allows %ss from namespace %s; see its allowedRoutes", ref.Kind(),
				ref.Namespace()),
		}
	}
	return list, model.Finding{Reason: "NoMatchingListenerHostname",
		Message: "no hostname of the route matches the hostname of such a listener"}
}

func (at attacher) namespaceAllowed(c *flow.Ctx, l listenerView, namespace string) bool {
	switch l.From {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return namespace == l.Key.Parent.Namespace()
	case gatewayv1.NamespacesFromSelector:
		if l.Selector == nil {
			return false
		}
		selector, err := metav1.LabelSelectorAsSelector(l.Selector)
		if err != nil {
			return false
		}
		o, _ := flow.Fetch(c, at.namespaces, model.Ref(model.KindNamespace, "", namespace))
		return selector.Matches(labels.Set(o.Meta.Labels.Map()))
	}
	return false
}

// attachedListeners are the listeners whose attachedRoutes count the route.
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
