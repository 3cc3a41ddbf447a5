package xds

import (
	"slices"

	"cardea.dev/cardea/internal/resource"
)

// listeners sends adds, changes and removals in one response, each name only when nothing of it is in flight. Those that
// share an address wait for each other: Envoy refuses a listener whose address another one still has, and does not try again.
func (st *stream) listeners() {
	sub := &st.subs[resource.Listener]
	if !sub.open {
		return
	}
	due := append(st.due(resource.Listener, true), st.due(resource.Listener, false)...)
	blocked := st.blockedListeners(due)
	due = slices.DeleteFunc(due, func(it *item) bool { return blocked[it] })
	for _, group := range byGroup(due) {
		st.ship(resource.Listener, successorsLast(group)...)
	}
	if sub.greet {
		st.push(&response{typ: resource.Listener})
	}
}

// blockedListeners are those in flight, and all that share an address with one of them, directly or through others.
func (st *stream) blockedListeners(due []*item) map[*item]bool {
	blocked := map[*item]bool{}
	taken := map[string]bool{}
	block := func(it *item) {
		blocked[it] = true
		for _, a := range it.addresses() {
			taken[a] = true
		}
	}
	for _, it := range st.items[resource.Listener] {
		if len(it.sent) > 0 {
			block(it)
		}
	}
	if len(blocked) == 0 {
		return blocked
	}
	for again := true; again; {
		again = false
		for _, it := range due {
			if !blocked[it] && slices.ContainsFunc(it.addresses(), func(a string) bool { return taken[a] }) {
				block(it)
				again = true
			}
		}
	}
	return blocked
}

// addresses are all that a listener binds now, in flight or next.
func (it *item) addresses() []string {
	var list []string
	for _, v := range append([]*version{it.has, it.want()}, it.sent...) {
		if v != nil {
			list = append(list, v.res.Binds...)
		}
	}
	return list
}

// successorsLast orders listeners so that one that takes over an address follows the one that gives it up.
func successorsLast(group []*item) []*item {
	owner := map[string]*item{}
	for _, it := range group {
		if it.has != nil {
			for _, a := range it.has.res.Binds {
				owner[a] = it
			}
		}
	}
	var order []*item
	seen := map[*item]bool{}
	var visit func(it *item)
	visit = func(it *item) {
		if seen[it] {
			return
		}
		seen[it] = true
		if v := it.want(); v != nil {
			for _, a := range v.res.Binds {
				if o := owner[a]; o != nil {
					visit(o)
				}
			}
		}
		order = append(order, it)
	}
	for _, it := range group {
		visit(it)
	}
	return order
}
