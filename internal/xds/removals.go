package xds

import (
	"maps"
	"slices"

	"cardea.dev/cardea/internal/resource"
)

// removals sends what left, in responses of their own, as soon as the proxy can't use it any more. Route tables are never
// removed (a proxy that waits for one would wait forever): the proxy unsubscribes.
func (st *stream) removals(t resource.Type) {
	due := st.due(t, true)
	if len(due) == 0 {
		return
	}
	users := []resource.Type{resource.Listener, resource.Routes}
	switch t {
	case resource.Endpoints:
		users = []resource.Type{resource.Cluster}
	case resource.Secret:
		users = []resource.Type{resource.Cluster, resource.Listener}
	case resource.Cluster:
		if !st.knowsRoutes() {
			return
		}
	}
	used, all := st.stillUsed(users)
	if all {
		return
	}
	var free []*item
	for _, it := range due {
		if !used[it.name] && st.set.needs[it.name] == 0 {
			free = append(free, it)
		}
	}
	if len(free) > 0 {
		st.ship(t, free...)
	}
}

// stillUsed collects what proxies may use though the set's values don't name it any more: through values that they have or
// that are in flight. all: it has values that we don't know.
func (st *stream) stillUsed(users []resource.Type) (used map[resource.Name]bool, all bool) {
	used = map[resource.Name]bool{}
	for e := range st.set.apart {
		if !slices.Contains(users, e.name.Type) {
			continue
		}
		for c := range diff(e.current.parts(), e.offer.parts()) {
			if c.new == nil {
				continue
			}
			for _, n := range c.new.Needs {
				used[n] = true
			}
		}
	}
	for _, t := range users {
		for _, it := range st.items[t] {
			if it.unknown {
				return nil, true
			}
			var now []*resource.Part
			if it.entry != nil {
				now = it.entry.current.parts()
			}
			for _, v := range append([]*version{it.has}, it.sent...) {
				for c := range diff(now, v.parts()) {
					if c.new == nil {
						continue
					}
					for _, n := range c.new.Needs {
						used[n] = true
					}
				}
			}
		}
	}
	return used, false
}

// knowsRoutes tells whether the proxy has shown which tables it brought along, so that we know what they name. It asks for
// clusters first, and tables after its listeners.
func (st *stream) knowsRoutes() bool {
	if st.routesSeen {
		return true
	}
	if !st.subs[resource.Listener].open {
		return false
	}
	if st.hasAsked(resource.Routes) || !st.now.Before(st.opened.Add(patience)) {
		st.routesSeen = true
		return true
	}
	st.later(st.opened.Add(patience))
	return false
}

// hasAsked tells whether the proxy asked for all of a type that its listeners name.
func (st *stream) hasAsked(t resource.Type) bool {
	asked := true
	for _, e := range st.set.entries[resource.Listener] {
		v := e.offer
		if it := st.items[resource.Listener][e.name.Name]; it != nil && it.no != nil && v.equal(it.no) {
			v = it.has
		}
		for _, p := range v.parts() {
			for _, n := range p.Needs {
				asked = asked && (n.Type != t || st.asked(n))
			}
		}
	}
	return asked
}

// asked tells whether the proxy subscribed to a name.
func (st *stream) asked(n resource.Name) bool {
	sub := &st.subs[n.Type]
	if _, ok := sub.absent[n.Name]; ok {
		return true
	}
	e := st.set.lookup(n)
	return e != nil && sub.asked.has(e.slot)
}

// checkWhole tells whether the proxy acknowledged a whole configuration for the first time: clusters, listeners, and every
// table and certificate that these name, without which it lets no connection in.
func (st *stream) checkWhole() {
	if st.whole || !st.subs[resource.Cluster].open || !st.subs[resource.Listener].open {
		return
	}
	for _, r := range st.inflight {
		if r.typ != resource.Endpoints {
			return
		}
	}
	for _, t := range []resource.Type{resource.Cluster, resource.Secret, resource.Listener, resource.Routes} {
		for _, it := range st.dirty[t] {
			if it.want() != nil {
				return
			}
		}
	}
	if !st.hasAsked(resource.Routes) || !st.hasAsked(resource.Secret) || st.awaitsVerdict() {
		return
	}
	st.whole = true
	for t := range st.items { // maps don't shrink
		st.items[t], st.dirty[t] = maps.Collect(maps.All(st.items[t])), maps.Collect(maps.All(st.dirty[t]))
	}
	st.set.recount()
}

// awaitsVerdict tells whether the proxy has nothing of a listener or of a table yet, because something in it was refused.
func (st *stream) awaitsVerdict() bool {
	for _, t := range []resource.Type{resource.Listener, resource.Routes} {
		for _, e := range st.set.entries[t] {
			if e.held {
				if v, uses := st.accepted(e); uses && v == nil {
					return true
				}
			}
		}
	}
	return false
}
