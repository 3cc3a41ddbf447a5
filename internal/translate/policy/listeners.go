package policy

import (
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// gatewayListener is what findings need of a listener of a Gateway.
type gatewayListener struct {
	Gateway     model.ObjectRef
	Section     string // its level at the Gateway
	Protocol    model.Protocol
	AsksClients bool // for certificates
}

// gatewayListeners are the listeners of a Gateway that can serve.
type gatewayListeners = flow.Members[model.ListenerKey, gatewayListener]

// newListeners are those listeners, by Gateway.
func newListeners(
	all *flow.Collection[model.ListenerKey, model.Listener],
) *flow.Collection[model.ObjectRef, gatewayListeners] {
	listeners := flow.Map(all, "policy/listeners",
		func(_ *flow.Ctx, k model.ListenerKey, l model.Listener) (gatewayListener, bool) {
			return gatewayListener{l.Gateway, k.Level(l.Gateway), l.Protocol, l.Clients != nil}, true
		})
	return flow.Group(listeners, "policy/listeners-by-gateway",
		func(_ model.ListenerKey, l gatewayListener) []model.ObjectRef { return []model.ObjectRef{l.Gateway} }, flow.ByKey)
}

// listenersOf are the listeners of a Gateway: those of its own, whether they can serve or not, and those of its
// ListenerSets that can. What a policy is for does not change with a Secret that is missing.
func (m *Translator) listenersOf(c *flow.Ctx, gateway model.ObjectRef) (list []gatewayListener) {
	served, _ := flow.Fetch(c, m.listenersByGateway, gateway)
	for _, l := range served.All() {
		list = append(list, l)
	}
	o, found := flow.Fetch(c, m.inputs.Sources.Gateways.Collection(), gateway)
	if !found {
		return list
	}
	for _, l := range o.Spec.Listeners {
		list = append(list, gatewayListener{
			Gateway: gateway, Section: string(l.Name), Protocol: model.Protocol(l.Protocol),
		})
	}
	return list
}
