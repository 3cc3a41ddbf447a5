package xds

import (
	"slices"

	"cardea.dev/cardea/internal/resource"
)

// notInFlight leaves out those of which a version is in flight, and all that share an address with one of these,
// directly or through others: Envoy refuses a listener whose address another one still has, and does not try again.
func (st *stream) notInFlight(t resource.Type, due []*item) []*item {
	if len(due) == 0 {
		return nil
	}
	blocked := map[*item]bool{}
	taken := map[string]bool{}
	block := func(it *item) {
		blocked[it] = true
		for _, a := range it.addresses() {
			taken[a] = true
		}
	}
	for _, it := range st.items[t] {
		if len(it.sent) > 0 {
			block(it)
		}
	}
	for again := len(blocked) > 0; again; {
		again = false
		for _, it := range due {
			if !blocked[it] && slices.ContainsFunc(it.addresses(), func(a string) bool { return taken[a] }) {
				block(it)
				again = true
			}
		}
	}
	return slices.DeleteFunc(due, func(it *item) bool { return blocked[it] })
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
