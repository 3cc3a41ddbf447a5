package world

import (
	"fmt"
	"iter"
	"slices"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
)

// Dialect is the declaration of a data plane; the first of the list if there is no such one, as for a Gateway that is
// gone.
func (w *World) Dialect(of model.DataPlane) dataplane.Dialect { return w.DialectNamed(of.Name) }

// DialectNamed is Dialect by the name of a data plane.
func (w *World) DialectNamed(name string) dataplane.Dialect {
	i := slices.IndexFunc(w.Dialects, func(d dataplane.Dialect) bool { return d.Name.Name == name })
	return w.Dialects[max(i, 0)]
}

// DialectOf is the dialect of a Gateway's proxies.
func (w *World) DialectOf(v flow.View, gateway model.ObjectRef) dataplane.Dialect {
	g, _ := flow.Get(v, w.Plan.Gateways, gateway)
	return w.Dialect(g.DataPlane)
}

// TypesOf are the types of the resources of a Gateway's proxies.
func (w *World) TypesOf(v flow.View, gateway model.ObjectRef) resource.AllTypes {
	return w.DialectOf(v, gateway).Protocol.Types
}

// Resources are those with types that are meant, of all Gateways.
func (w *World) Resources(v flow.View, meant func(resource.Role) bool) iter.Seq2[resource.Key, resource.Resource] {
	return func(yield func(resource.Key, resource.Resource) bool) {
		for _, c := range w.Collections(meant) {
			for key, r := range flow.All(v, c) {
				if meant(w.TypesOf(v, key.Gateway)[key.Type].Role) && !yield(key, r) {
					return
				}
			}
		}
	}
}

// Collections are those that may have resources of the types that are meant. They may have others, too: of other data
// planes, or those behind the collections of types (resource.Outputs).
func (w *World) Collections(
	meant func(resource.Role) bool,
) (list []*flow.Collection[resource.Key, resource.Resource]) {
	for t, c := range w.Outputs.Resources {
		if slices.ContainsFunc(w.Dialects, func(d dataplane.Dialect) bool {
			return t >= len(d.Protocol.Types) || meant(d.Protocol.Types[t].Role)
		}) {
			list = append(list, c)
		}
	}
	return list
}

// HasOtherDataPlanes tells whether a Gateway has another data plane than the program's first, so that it has to be said
// which one is spoken of.
func (w *World) HasOtherDataPlanes(v flow.View) bool {
	for _, g := range flow.All(v, w.Plan.Gateways) {
		if g.DataPlane != w.Dialects[0].Name {
			return true
		}
	}
	return false
}

// dataPlaneNames are the names of the data planes.
func dataPlaneNames(dialects []dataplane.Dialect) (list []model.DataPlane) {
	for _, d := range dialects {
		list = append(list, d.Name)
	}
	return list
}

// protocols are the protocols of listeners that the data planes serve.
func protocols(dialects []dataplane.Dialect) map[model.DataPlane][]model.Protocol {
	all := map[model.DataPlane][]model.Protocol{}
	for _, d := range dialects {
		all[d.Name] = d.Protocols
	}
	return all
}

// featureRenderers are the renderers of the features of policies, by data plane.
func featureRenderers(dialects []dataplane.Dialect) map[model.DataPlane]plan.Renderer {
	all := map[model.DataPlane]plan.Renderer{}
	for _, d := range dialects {
		all[d.Name] = d.Policies
	}
	return all
}

// renderPlan renders the plan by every dialect that does so itself.
func renderPlan(
	g *flow.Graph, p plan.Plan, f *resource.Feedback, dialects []dataplane.Dialect,
) (list []resource.Outputs) {
	for _, d := range dialects {
		if d.RenderedBy == (model.DataPlane{}) {
			list = append(list, d.Render(g, p, f))
		}
	}
	return list
}

// join joins what dialects rendered. Each renders what is its own, so no two have a key in common.
func join(list []resource.Outputs) resource.Outputs {
	out := list[0]
	if len(list) == 1 {
		return out
	}
	out.Resources = mergeResources(list)
	out.Listeners = mergeOutputs("world/listener-standings", list,
		func(o resource.Outputs) *flow.Collection[resource.AckStateKey, resource.AckState] { return o.Listeners })
	out.Settings = mergeOutputs("world/setting-standings", list,
		func(o resource.Outputs) *flow.Collection[resource.AckStateKey, resource.AckState] { return o.Settings })
	out.RefusedBackends = mergeOutputs("world/refused-backends", list,
		func(o resource.Outputs) *flow.Collection[resource.AckStateKey, resource.Refusal] {
			return o.RefusedBackends
		})
	out.Policies = mergeOutputs("world/policy-standings", list,
		func(o resource.Outputs) *flow.Collection[resource.AckStateKey, resource.AckState] { return o.Policies })
	out.Routes = mergeOutputs("world/route-standings", list,
		func(o resource.Outputs) *flow.Collection[resource.RouteKey, resource.RouteAckState] { return o.Routes })
	out.RuleChanged = func(v flow.View, rule model.RuleKey) (last flow.Rev) {
		for _, o := range list {
			last = max(last, o.RuleChanged(v, rule))
		}
		return last
	}
	return out
}

// mergeResources joins resources by type. A type is another one for each dialect, as the Gateway of a key tells.
func mergeResources(list []resource.Outputs) (all []*flow.Collection[resource.Key, resource.Resource]) {
	for t := 0; ; t++ {
		those := slices.DeleteFunc(slices.Clone(list), func(o resource.Outputs) bool { return t >= len(o.Resources) })
		if len(those) == 0 {
			return all
		}
		all = append(all, mergeOutputs(fmt.Sprintf("world/resources-%d", t), those,
			func(o resource.Outputs) *flow.Collection[resource.Key, resource.Resource] { return o.Resources[t] }))
	}
}

// mergeOutputs makes one collection of the collections of several dialects.
func mergeOutputs[K comparable, V any](
	name string, list []resource.Outputs, of func(resource.Outputs) *flow.Collection[K, V],
) *flow.Collection[K, V] {
	var inputs []flow.Input[K, V]
	for _, o := range list {
		inputs = append(inputs, flow.From(of(o), func(_ *flow.Ctx, _ K, v V) (V, bool) { return v, true }))
	}
	return flow.Merge(name, inputs[0], inputs[1:]...)
}
