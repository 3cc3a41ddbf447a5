package backend

import (
	"iter"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// InUse are the backends that routes name.
type InUse struct {
	*Backends
	// PodSelectors are the objects of all kinds that select pods, which Cardea has to find.
	PodSelectors *flow.Collection[model.ObjectRef, plan.PodSelector]
	// Pickers are the pools for which a picker has to run.
	Pickers *flow.Collection[model.ObjectRef, plan.PickerSpec]

	routes *routesByBackend
}

// NewInUse finds which backends routes name. denying tells the Gateways that a route names and that did not accept it.
func (all *Backends) NewInUse(
	routes *flow.Collection[model.ObjectRef, model.Route], denying func(*flow.Ctx, model.ObjectRef) []model.ObjectRef,
) *InUse {
	u := &InUse{Backends: all, routes: all.newNamingRoutes(routes, denying)}
	u.PodSelectors = u.podSelectors()
	u.Pickers = u.planPickers()
	return u
}

// podSelectors are the objects of all kinds that select pods, which Cardea has to find.
func (u *InUse) podSelectors() *flow.Collection[model.ObjectRef, plan.PodSelector] {
	var list []flow.Input[model.ObjectRef, plan.PodSelector]
	for _, k := range u.listKinds() {
		if selecting, is := u.kinds[k].meaning.(PodSelecting); is {
			list = append(list, selecting.Selections(func(c *flow.Ctx, backend model.ObjectRef) bool {
				return hasServingRoute(c, u.routes, backend)
			}))
		}
	}
	return flow.Merge("plan/selection", list[0], list[1:]...)
}

// routeBackends is which backends that report a route names, and where it serves.
type routeBackends struct {
	Backends, Gateways []model.ObjectRef
	// Denied are Gateways that it names and that did not accept it, if a backend's status tells of them.
	Denied []model.ObjectRef
}

// routesByBackend are the routes by the backends that they name.
type routesByBackend = flow.Collection[model.ObjectRef, flow.Members[model.ObjectRef, routeBackends]]

// hasServingRoute tells whether a route that names a backend serves somewhere.
func hasServingRoute(c *flow.Ctx, named *routesByBackend, backend model.ObjectRef) bool {
	routes, _ := flow.Fetch(c, named, backend)
	for _, route := range routes.All() {
		if len(route.Gateways) > 0 {
			return true
		}
	}
	return false
}

// newNamingRoutes leaves of routes what backends, and policies that target them, have to know: it hardly ever changes.
func (all *Backends) newNamingRoutes(
	routes *flow.Collection[model.ObjectRef, model.Route], denying func(*flow.Ctx, model.ObjectRef) []model.ObjectRef,
) *routesByBackend {
	named := flow.Map(routes, "backends named", func(c *flow.Ctx, ref model.ObjectRef, r model.Route) (
		routeBackends, bool,
	) {
		n := routeBackends{Backends: r.Backends}
		for object := range servicesOf(r) {
			if _, targeted := flow.Fetch(c, all.policies.sections, object); targeted && !slices.Contains(n.Backends, object) {
				n.Backends = append(n.Backends[:len(n.Backends):len(n.Backends)], object)
			}
		}
		for _, p := range r.Listeners {
			if !slices.Contains(n.Gateways, p.Gateway) {
				n.Gateways = append(n.Gateways, p.Gateway)
			}
		}
		if slices.ContainsFunc(n.Backends, func(b model.ObjectRef) bool {
			return all.kinds[b.Kind()].declared.AsBackend().TellsDenials()
		}) {
			n.Denied = denying(c, ref)
		}
		return n, len(n.Backends) > 0 && len(n.Gateways)+len(n.Denied) > 0
	})
	return flow.Group(named, "routes by backend named",
		func(_ model.ObjectRef, n routeBackends) []model.ObjectRef { return n.Backends }, flow.ByKey)
}

// servicesOf goes over the Services that a route names, some of them twice, whether they are there or not.
func servicesOf(r model.Route) iter.Seq[model.ObjectRef] {
	return func(yield func(model.ObjectRef) bool) {
		for _, rule := range r.Rules {
			uses := rule.ListBackends()
			for _, b := range rule.Backends {
				for _, pool := range []*model.Pool{b.Pool, b.Standby.OfPool()} {
					if pool.HasPicker() {
						uses = append(uses, pool.Picker)
					}
				}
				uses = append(uses, b.Backend)
			}
			for _, key := range uses {
				if key.Object.Kind() == model.KindService && !yield(key.Object) {
					return
				}
			}
		}
	}
}
