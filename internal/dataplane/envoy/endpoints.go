package envoy

import (
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
)

// endpoints has a ClusterLoadAssignment for each backend that a Gateway uses, if its endpoints are known here. It may
// be empty: Envoy holds a cluster back until it gets one.
func endpoints(p plan.Plan) *flow.Collection[resource.Key, resource.Resource] {
	return flow.Rename(p.Backends, "envoy/endpoints", backendResource(resource.Endpoints),
		func(_ *flow.Ctx, _ plan.BackendKey, b model.Backend) (resource.Resource, bool) {
			if b.Hostname != "" || !ours(b.DataPlane) {
				return resource.Resource{}, false
			}
			return resource.Join(endpointPart(b)), true
		})
}

func endpointPart(b model.Backend) *resource.Part {
	part := newPart("", mustMarshal(assignment(clusterName(b.Key), b.Endpoints)))
	part.Fragments = []resource.Fragment{backendFragment(b.Key, part.Hash)}
	return part
}
