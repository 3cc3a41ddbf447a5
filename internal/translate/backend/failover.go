package backend

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/policy"
	"cardea.dev/cardea/internal/translate/problem"
	"cardea.dev/cardea/internal/translate/resolve"
)

// failover is who gets a pool's requests while it has no endpoint.
type failover struct {
	To       gatewayv1.BackendObjectReference
	By       model.ObjectRef // the policy that says so
	InEffect bool            // the pool has no endpoint
	// Backend is who that is, for requests of HTTPRoutes, and Wrong why nobody is; "": somebody is.
	Backend model.ObjectRef
	Wrong   string
}

// failovers has the pools for which a policy states one. A change of a pool's endpoints changes nothing here, unless
// the pool gets its first endpoint or loses its last.
type failovers = flow.Collection[model.ObjectRef, failover]

func (all *Backends) newFailovers(store *policy.Store) *failovers {
	return flow.Map(all.Pools, "inferencepool/failover",
		func(c *flow.Ctx, ref model.ObjectRef, p inferencePool) (f failover, stated bool) {
			if f.To, f.By, stated = store.FindFailover(c, ref); !stated {
				return f, false
			}
			to := all.ResolveBackend(c, f.By, f.To, false).Direct()
			f.Backend, f.Wrong = to.Key.Object, to.Unusable.Message
			f.InEffect = len(resolve.EndpointsAt(p.Ports, slicesOf(c, all.endpointSlices, ref))) == 0
			return f, true
		})
}

// describe tell who gets the requests of a pool without endpoints; "": nobody does.
func (f failover) describe() string {
	if !f.InEffect || f.Wrong != "" {
		return ""
	}
	return fmt.Sprintf("no pod is ready, so requests go to %s (%s, spec.failover)", f.Backend, f.By)
}

// DescribeFailover tells who gets the requests of a pool, which has no endpoint; "": nobody does.
func (all *Backends) DescribeFailover(v flow.View, pool model.ObjectRef) string {
	f, _ := flow.Get(v, all.failovers, pool)
	return f.describe()
}

// ApplyFailover is a pool, or the backend that gets its requests while it has no endpoint, and the path where that one
// takes messages ("": wherever a request goes).
//
// The reference of a failover is in a policy, so the policy needs the ReferenceGrant. grpc: see ResolveBackend.
func (all *Backends) ApplyFailover(
	c *flow.Ctx, pool model.WeightedBackend, grpc bool,
) (to model.WeightedBackend, path string, problems []problem.Problem) {
	f, stated := flow.Fetch(c, all.failovers, pool.Backend.Object)
	if !stated {
		return pool, "", nil
	}
	other := all.ResolveBackend(c, f.By, f.To, grpc).Direct()
	switch {
	case !other.Unusable.IsZero():
		return pool, "", []problem.Problem{{Severity: model.Warning, Message: fmt.Sprintf(
			"while %s has no endpoint, no other backend gets its requests: %s: spec.failover.backendRef: %s",
			pool.Backend.Object, f.By, other.Unusable.Message)}}
	case !f.InEffect:
		pool.Standby = &model.Standby{Backend: other.Key, Policy: f.By}
		return pool, "", nil
	}
	return model.WeightedBackend{
		Backend: other.Key, Weight: pool.Weight, Session: other.Session, External: other.External, MCP: other.MCP,
		Standby: &model.Standby{Backend: pool.Backend, Pool: pool.Pool, Policy: f.By},
	}, other.Path, nil
}
