package explain

import (
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// eachHolder are the resources that may have something of an object. For a route these are only the tables of its
// listeners, for tables may be long; for a route of connections all resources but tables, and for another object also
// without entries.
func (q *inquiry) eachHolder(ref model.ObjectRef, take func(resource.Key, resource.Resource)) {
	route, isRoute := flow.Get(q.view, q.world.Plan.Routes, ref)
	if isRoute && !route.IsForConnections() {
		q.tablesOf(ref, take)
		return
	}
	for key, r := range q.world.Resources(q.view, func(r resource.Role) bool {
		return r != resource.Routing && (isRoute || r != resource.Entries)
	}) {
		take(key, r)
	}
}

// tablesOf are the tables of the listeners where a route serves, each once.
func (q *inquiry) tablesOf(ref model.ObjectRef, take func(resource.Key, resource.Resource)) {
	route, _ := flow.Get(q.view, q.world.Plan.Routes, ref)
	seen := map[resource.Key]bool{}
	for _, place := range route.Listeners {
		l, found := flow.Get(q.view, q.world.Plan.Listeners, place.Listener)
		if !found {
			continue
		}
		if key := q.world.Dialect(l.DataPlane).RouteTable(l); !seen[key] {
			seen[key] = true
			if r, found := q.findRendered(key); found {
				take(key, r)
			}
		}
	}
}
