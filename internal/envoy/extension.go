package envoy

import (
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resource"
)

// extensions are what filters of listeners are configured with apart from them; so far no listener has such a filter.
func extensions(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	return flow.Rename(p.Gateways, "envoy/extensions",
		func(gateway model.ObjectRef) resource.Key {
			return resource.Key{Gateway: gateway, Type: resource.Extension}
		},
		func(*flow.Ctx, model.ObjectRef, model.Gateway) (resource.Resource, bool) {
			return resource.Resource{}, false
		})
}
