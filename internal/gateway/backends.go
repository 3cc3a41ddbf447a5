package gateway

import (
	"iter"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resolve"
)

// backendsOf lists the backends that a route needs, on each Gateway where it serves.
func backendsOf(_ model.ObjectRef, r model.Route) []plan.BackendKey {
	var list []plan.BackendKey
	for _, place := range r.Places {
		for _, rule := range r.Rules {
			for _, key := range rule.Uses() {
				list = append(list, plan.BackendKey{Gateway: place.Gateway, Backend: key})
			}
		}
	}
	return list
}

type slicesByBackend = flow.Collection[model.ObjectRef,
	flow.Members[model.ObjectRef, input.Object[input.EndpointSliceSpec]]]

// backends is where backends and their endpoints are looked up.
type backends struct {
	services  *services
	slices    *slicesByBackend
	xbackends *xbackends
}

func (in backends) backend(
	c *flow.Ctx, key plan.BackendKey, users flow.Members[model.ObjectRef, model.Route],
) (b model.Backend, served bool) {
	if key.Backend.Object.Kind() == model.KindXBackend {
		x, found := flow.Fetch(c, in.xbackends, key.Backend.Object)
		b, served = x.Backend, found && len(x.Findings) == 0
		if port := x.Selection.Port; port != 0 {
			b.Endpoints = resolve.EndpointsAt(port, in.slicesOf(c, key.Backend.Object))
		}
	} else {
		b.Protocol, b.Endpoints = in.service(c, key.Backend)
		served = true
	}
	_, user := users.At(0)
	b.Key, b.DataPlane = key.Backend, user.DataPlane(key.Gateway)
	if b.Key.HTTP2 { // whatever the object says
		b.Protocol = model.HTTP2
	}
	return b, served
}

func (in backends) service(c *flow.Ctx, key model.BackendKey) (model.BackendProtocol, []model.Endpoint) {
	service, found := flow.Fetch(c, in.services, key.Object)
	if !found {
		return "", nil
	}
	port, found := resolve.ServicePort(service.Spec, key.Port)
	if !found {
		return "", nil
	}
	protocol, _ := resolve.Protocol(port.AppProtocol)
	return protocol, resolve.Endpoints(port.Name, in.slicesOf(c, key.Object))
}

func (in backends) slicesOf(c *flow.Ctx, backend model.ObjectRef) iter.Seq[*input.EndpointSliceSpec] {
	members, _ := flow.Fetch(c, in.slices, slicesOf(backend))
	return specs(members)
}

// specs are those of the slices of a Service or an XBackend.
func specs(
	members flow.Members[model.ObjectRef, input.Object[input.EndpointSliceSpec]],
) iter.Seq[*input.EndpointSliceSpec] {
	return func(yield func(*input.EndpointSliceSpec) bool) {
		for _, o := range members.All() {
			if !yield(o.Spec) {
				return
			}
		}
	}
}
