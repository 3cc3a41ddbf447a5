package xds

import (
	"maps"
	"slices"

	"cardea.dev/cardea/internal/core/resource"
)

// sendRemovals sends what left, in responses of their own, as soon as the proxy can't use it any more. Route tables are
// never removed (a proxy that waits for one would wait forever): the proxy unsubscribes.
func (st *stream) sendRemovals(t *typeSpec) {
	if t.Removal != resource.WhenUnused {
		return
	}
	due := st.dueItems(t.Type, true)
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
	for e := range st.set.divergent {
		if slices.Contains(t.UsedBy, e.name.Type) {
			addNeeds(used, e.current, e.offer)
		}
	}
	free := slices.DeleteFunc(due, func(it *item) bool { return used[it.name] || st.set.needs[it.name] > 0 })
	if len(free) > 0 {
		st.pushItems(t.Type, free...)
	}
}

// knowsUsers tells whether the proxy has shown which users of a type it brought along, so that we know what they name.
// It asks for clusters first, then for listeners, and for tables after these.
func (st *stream) knowsUsers(t *typeSpec) bool {
	return !slices.ContainsFunc(t.UsedBy, func(user resource.Type) bool {
		return st.set.spec(user).ByName && !(st.subs[st.set.listeners].open && st.hasAsked(user))
	})
}

// hasAsked tells whether the proxy asked for all of a type that its listeners name.
func (st *stream) hasAsked(t resource.Type) bool {
	for _, e := range st.set.entries[st.set.listeners] {
		v := e.offer
		if it := st.items[st.set.listeners][e.name.Name]; it != nil && v != nil && (v.sameAs(it.refused) ||
			v.sameAs(it.unbound)) {
			v = it.acknowledged
		}
		for _, p := range v.parts() {
			for _, n := range p.Needs {
				if n.Type == t && !st.hasAskedFor(n) {
					return false
				}
			}
		}
	}
	return true
}

func (st *stream) hasAskedFor(n resource.Name) bool {
	sub := &st.subs[n.Type]
	if _, ok := sub.absent[n.Name]; ok {
		return true
	}
	e := st.set.lookup(n)
	return e != nil && sub.asked.contains(e.slot)
}

// checkWhole tells whether the proxy acknowledged a whole configuration for the first time: clusters, listeners, and
// every table and certificate that these name, without which it lets no connection in.
func (st *stream) checkWhole() {
	if st.hasWhole {
		return
	}
	for i := range st.set.specs {
		if t := &st.set.specs[i]; t.Push != resource.EachChange && !st.hasAll(t) {
			return
		}
	}
	for e := range st.set.suspended {
		if e.state == rejected {
			continue
		}
		if v, uses := st.acceptedVersion(e); uses && v == nil {
			return // it waits for a verdict
		}
	}
	st.hasWhole = true
	for t := range st.items { // maps don't shrink
		st.items[t], st.pending[t] = maps.Collect(maps.All(st.items[t])), maps.Collect(maps.All(st.pending[t]))
	}
	st.set.recountProxies()
}

// hasAll tells whether the proxy asked for all of a type, and nothing of that is to be sent or in flight.
func (st *stream) hasAll(t *typeSpec) bool {
	for _, r := range st.inflight {
		if r.typ == t.Type {
			return false
		}
	}
	for _, it := range st.pending[t.Type] {
		if it.wantedVersion() != nil {
			return false
		}
	}
	if t.ByName {
		return st.hasAsked(t.Type)
	}
	return st.subs[t.Type].open
}
