package envoy

import (
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resource"
)

// endpoints has a ClusterLoadAssignment for each backend that a Gateway uses and whose endpoints are known here, be it an
// empty one: Envoy holds a cluster back until it is told.
func endpoints(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	parts := flow.Map(p.Endpoints, "envoy/endpoint-parts", func(_ *flow.Ctx, _ model.BackendKey, e model.Endpoints) (*resource.Part, bool) {
		return endpointPart(e), true
	})
	used := flow.Group(p.BackendUsers, "envoy/endpoints-used", func(u plan.BackendUser, _ struct{}) []resource.Key {
		return []resource.Key{{Gateway: u.Gateway, Type: resource.Endpoints, Name: clusterName(u.Backend)}}
	}, byKey)
	return flow.Map(used, "envoy/endpoints", func(c *flow.Ctx, _ resource.Key, users backendUsers) (resource.Resource, bool) {
		user, _ := users.At(0)
		if b, ok := flow.Fetch(c, p.Backends, user.Backend); !ok || b.Hostname != "" {
			return resource.Resource{}, false
		}
		part, ok := flow.Fetch(c, parts, user.Backend)
		if !ok {
			part = endpointPart(model.Endpoints{Key: user.Backend})
		}
		return newResource(part), true
	})
}

func endpointPart(e model.Endpoints) *resource.Part {
	part := newPart("", mustMarshal(assignment(clusterName(e.Key), e.Addresses)))
	part.Fragments = []resource.Fragment{{Origin: backendOrigin(e.Key), Hash: part.Hash}}
	return part
}
