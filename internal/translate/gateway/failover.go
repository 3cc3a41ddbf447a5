package gateway

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/policy"
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

func (m *Meaning) newFailovers(store *policy.Store, kinds backendKinds, grants *grants) *failovers {
	return flow.Map(m.pools, "inferencepool/failover",
		func(c *flow.Ctx, ref model.ObjectRef, p inferencePool) (f failover, stated bool) {
			if f.To, f.By, stated = store.Failover(c, ref); !stated {
				return f, false
			}
			to := kinds.resolve(c, grants, f.By, f.To, false).direct()
			f.Backend, f.Wrong = to.Key.Object, to.Unusable.message
			f.InEffect = len(resolve.EndpointsAt(p.Ports, slicesOf(c, m.slices, ref))) == 0
			return f, true
		})
}

// words tell who gets the requests of a pool without endpoints; "": nobody does.
func (f failover) words() string {
	if !f.InEffect || f.Wrong != "" {
		return ""
	}
	return fmt.Sprintf("no pod is ready, so requests go to %s (%s, spec.failover)", f.Backend, f.By)
}

// InsteadOf tells who gets the requests of a pool, which has no endpoint; "": nobody does.
func (m *Meaning) InsteadOf(v flow.View, pool model.ObjectRef) string {
	f, _ := flow.Get(v, m.failovers, pool)
	return f.words()
}

// orElse is a pool, or the backend that gets its requests while it has no endpoint, and the path where that one takes
// messages ("": wherever a request goes).
func (s ruleScope) orElse(pool model.WeightedBackend) (to model.WeightedBackend, path string, problems []problem) {
	f, stated := flow.Fetch(s.c, s.refs.failovers, pool.Backend.Object)
	if !stated {
		return pool, "", nil
	}
	other := s.standIn(f)
	switch {
	case !other.Unusable.none():
		return pool, "", []problem{{severity: model.Warning, message: fmt.Sprintf(
			"while %s has no endpoint, no other backend gets its requests: %s: spec.failover.backendRef: %s",
			pool.Backend.Object, f.By, other.Unusable.message)}}
	case !f.InEffect:
		pool.Standby = &model.Standby{Backend: other.Key, Policy: f.By}
		return pool, "", nil
	}
	return model.WeightedBackend{
		Backend: other.Key, Weight: pool.Weight, Session: other.Session, External: other.External, MCP: other.MCP,
		Standby: &model.Standby{Backend: pool.Backend, Pool: pool.Pool, Policy: f.By},
	}, other.Path, nil
}

// standIn resolves the reference of a failover. The reference is in a policy, so the policy needs the ReferenceGrant.
func (s ruleScope) standIn(f failover) referred {
	return s.refs.backends.resolve(s.c, s.refs.grants, f.By, f.To, s.route.Kind() == model.KindGRPCRoute).direct()
}

// standsIn is the backend that may get a pool's requests, if its status says where it serves.
func (s ruleScope) standsIn(pool model.ObjectRef) (ref model.ObjectRef, reports bool) {
	f, stated := flow.Fetch(s.c, s.refs.failovers, pool)
	if !stated {
		return ref, false
	}
	ref = readBackendReference(f.By, f.To).ref
	kind, known := s.refs.backends[ref.Kind()]
	return ref, known && kind.reports() && s.refs.grants.permit(s.c, f.By, ref)
}
