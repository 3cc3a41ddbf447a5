package xds

import (
	"maps"
	"slices"

	"cardea.dev/cardea/internal/core/resource"
)

// remove sends what left, in responses of their own, as soon as the proxy can't use it any more. Route tables are never
// removed (a proxy that waits for one would wait forever): the proxy unsubscribes.
func (st *stream) remove(t *resource.TypeSpec) {
	if t.Removal != resource.WhenUnused {
		return
	}
	due := st.due(t.Type, true)
	if len(due) == 0 || !st.knowsUsers(t) {
		return
	}
	used := map[resource.Name]bool{} // though the set's values don't name it any more
	for _, user := range t.UsedBy {
		for _, it := range st.items[user] {
			if it.unknown {
				return
			}
			it.addNeeds(used)
		}
	}
	for e := range st.set.apart {
		if slices.Contains(t.UsedBy, e.name.Type) {
			addNeeds(used, e.current, e.offer)
		}
	}
	free := slices.DeleteFunc(due, func(it *item) bool { return used[it.name] || st.set.needs[it.name] > 0 })
	if len(free) > 0 {
		st.ship(t.Type, free...)
	}
}

// knowsUsers tells whether the proxy has shown which users of a type it brought along, so that we know what they name.
// It asks for clusters first, then for listeners, and for tables after these.
func (st *stream) knowsUsers(t *resource.TypeSpec) bool {
	return !slices.ContainsFunc(t.UsedBy, func(user resource.Type) bool {
		return st.set.spec(user).ByName && !(st.subs[resource.Listener].open && st.hasAsked(user))
	})
}

// hasAsked tells whether the proxy asked for all of a type that its listeners name.
func (st *stream) hasAsked(t resource.Type) bool {
	for _, e := range st.set.entries[resource.Listener] {
		v := e.offer
		if it := st.items[resource.Listener][e.name.Name]; it != nil && v != nil && (v.equal(it.refused) ||
			v.equal(it.unbound)) {
			v = it.has
		}
		for _, p := range v.parts() {
			for _, n := range p.Needs {
				if n.Type == t && !st.asked(n) {
					return false
				}
			}
		}
	}
	return true
}

func (st *stream) asked(n resource.Name) bool {
	sub := &st.subs[n.Type]
	if _, ok := sub.absent[n.Name]; ok {
		return true
	}
	e := st.set.lookup(n)
	return e != nil && sub.asked.has(e.slot)
}

// checkWhole tells whether the proxy acknowledged a whole configuration for the first time: clusters, listeners, and
// every table and certificate that these name, without which it lets no connection in.
func (st *stream) checkWhole() {
	if st.whole {
		return
	}
	for i := range st.set.Types {
		if t := &st.set.Types[i]; t.Follows != resource.EachChange && !st.hasAll(t) {
			return
		}
	}
	for e := range st.set.suspended {
		if e.state == rejected {
			continue
		}
		if v, uses := st.accepted(e); uses && v == nil {
			return // it waits for a verdict
		}
	}
	st.whole = true
	for t := range st.items { // maps don't shrink
		st.items[t], st.pending[t] = maps.Collect(maps.All(st.items[t])), maps.Collect(maps.All(st.pending[t]))
	}
	st.set.recount()
}

// hasAll tells whether the proxy asked for all of a type, and nothing of that is to be sent or in flight.
func (st *stream) hasAll(t *resource.TypeSpec) bool {
	for _, r := range st.inflight {
		if r.typ == t.Type {
			return false
		}
	}
	for _, it := range st.pending[t.Type] {
		if it.want() != nil {
			return false
		}
	}
	if t.ByName {
		return st.hasAsked(t.Type)
	}
	return st.subs[t.Type].open
}
