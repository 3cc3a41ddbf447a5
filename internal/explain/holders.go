package explain

import (
	"cardea.dev/cardea/internal/envoy"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resource"
)

// holders are the resources that may have something of an object, by its kind: of a route the tables of its listeners,
// which may be long, only.
func (q *asked) holders(ref model.ObjectRef, take func(resource.Key, resource.Resource)) {
	switch ref.Kind() {
	case model.KindHTTPRoute, model.KindGRPCRoute:
		q.tablesOf(ref, take)
	case model.KindGateway:
		q.holdersOf(resource.Listener, take)
	case model.KindService, model.KindXBackend:
		q.holdersOf(resource.Cluster, take)
		q.holdersOf(resource.Endpoints, take)
	case model.KindSecret:
		q.holdersOf(resource.Secret, take)
	}
}

func (q *asked) holdersOf(t resource.Type, take func(resource.Key, resource.Resource)) {
	for key, r := range flow.All(q.view, q.world.Outputs.Of(t)) {
		take(key, r)
	}
}

// tablesOf are the tables of the listeners where a route serves, each once.
func (q *asked) tablesOf(ref model.ObjectRef, take func(resource.Key, resource.Resource)) {
	route, _ := flow.Get(q.view, q.world.Plan.Routes, ref)
	seen := map[resource.Key]bool{}
	for _, place := range route.Places {
		l, found := flow.Get(q.view, q.world.Plan.Listeners, place.Listener)
		if key := envoy.TableOf(l); found && !seen[key] {
			seen[key] = true
			if r, found := q.rendered(key); found {
				take(key, r)
			}
		}
	}
}
