package explain

import (
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// holders are the resources that may have something of an object. For a route these are only the tables of its
// listeners, for tables may be long; for another object, all resources but tables.
func (q *asked) holders(ref model.ObjectRef, take func(resource.Key, resource.Resource)) {
	if _, isRoute := flow.Get(q.view, q.world.Plan.Routes, ref); isRoute {
		q.tablesOf(ref, take)
		return
	}
	for _, t := range []resource.Type{resource.Listener, resource.Cluster, resource.Endpoints, resource.Secret} {
		q.holdersOf(t, take)
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
		if !found {
			continue
		}
		if key := q.world.Dialect(l.DataPlane).Table(l); !seen[key] {
			seen[key] = true
			if r, found := q.rendered(key); found {
				take(key, r)
			}
		}
	}
}
