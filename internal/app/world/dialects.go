package world

import (
	"slices"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
)

// Dialect is the declaration of a data plane; the first of the list if none is called that, as for a Gateway that is
// gone.
func (w *World) Dialect(name model.DataPlane) dataplane.Dialect {
	i := slices.IndexFunc(w.Dialects, func(d dataplane.Dialect) bool { return d.Name == name })
	return w.Dialects[max(i, 0)]
}

// DialectOf is the dialect of a Gateway's proxies.
func (w *World) DialectOf(v flow.View, gateway model.ObjectRef) dataplane.Dialect {
	g, _ := flow.Get(v, w.Plan.Gateways, gateway)
	return w.Dialect(g.DataPlane)
}

// Mixed tells whether a Gateway has another data plane than the program's first, so that it has to be said which one is
// spoken of.
func (w *World) Mixed(v flow.View) bool {
	for _, g := range flow.All(v, w.Plan.Gateways) {
		if g.DataPlane != w.Dialects[0].Name {
			return true
		}
	}
	return false
}

// names are the names of the data planes.
func names(dialects []dataplane.Dialect) (list []model.DataPlane) {
	for _, d := range dialects {
		list = append(list, d.Name)
	}
	return list
}

// renderers are the renderers of the features of policies, by data plane.
func renderers(dialects []dataplane.Dialect) map[model.DataPlane]plan.Renderer {
	all := map[model.DataPlane]plan.Renderer{}
	for _, d := range dialects {
		all[d.Name] = d.Policies
	}
	return all
}

// render renders the plan by every dialect that does so itself, and joins what comes of it. Each renders what is its
// own, so no two have a key in common.
func render(g *flow.Graph, p plan.Plan, f *resource.Feedback, dialects []dataplane.Dialect) resource.Outputs {
	var list []resource.Outputs
	for _, d := range dialects {
		if d.RenderedBy == "" {
			list = append(list, d.Render(g, p, f))
		}
	}
	out := list[0]
	if len(list) == 1 {
		return out
	}
	out.Resources = nil
	for _, t := range resource.Types() {
		out.Resources = append(out.Resources, merge("world/"+t.String(), list,
			func(o resource.Outputs) *flow.Collection[resource.Key, resource.Resource] { return o.Of(t) }))
	}
	out.Listeners = merge("world/listener-standings", list,
		func(o resource.Outputs) *flow.Collection[resource.StandingKey, resource.Standing] { return o.Listeners })
	out.Settings = merge("world/setting-standings", list,
		func(o resource.Outputs) *flow.Collection[resource.StandingKey, resource.Standing] { return o.Settings })
	out.RefusedBackends = merge("world/refused-backends", list,
		func(o resource.Outputs) *flow.Collection[resource.StandingKey, resource.Refusal] {
			return o.RefusedBackends
		})
	out.Policies = merge("world/policy-standings", list,
		func(o resource.Outputs) *flow.Collection[resource.StandingKey, resource.Standing] { return o.Policies })
	out.Routes = merge("world/route-standings", list,
		func(o resource.Outputs) *flow.Collection[resource.RouteKey, resource.RouteStanding] { return o.Routes })
	out.RuleChanged = func(v flow.View, rule model.RuleKey) (last flow.Rev) {
		for _, o := range list {
			last = max(last, o.RuleChanged(v, rule))
		}
		return last
	}
	return out
}

// merge makes one collection of the collections of several dialects.
func merge[K comparable, V any](
	name string, list []resource.Outputs, of func(resource.Outputs) *flow.Collection[K, V],
) *flow.Collection[K, V] {
	var inputs []flow.Input[K, V]
	for _, o := range list {
		inputs = append(inputs, flow.From(of(o), func(_ *flow.Ctx, _ K, v V) (V, bool) { return v, true }))
	}
	return flow.Merge(name, inputs[0], inputs[1:]...)
}
