package xds

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"cardea.dev/cardea/internal/core/resource"
)

// patience is how long a route table waits for a new cluster that warms, or for what a proxy has not asked for yet.
const patience = 5 * time.Second

// step ends a step: it returns what may be sent now, in this order, and when to look again at the latest.
func (st *stream) step() ([]*response, time.Time) {
	st.wait = time.Time{}
	st.endAbsences()
	st.endSilence()
	st.set.tidy()
	types := st.set.Types
	for i := range types {
		st.placeholders(&types[i])
	}
	st.retryUnbound()
	for i := range types {
		st.send(&types[i])
	}
	st.try()
	for i := range slices.Backward(types) {
		st.remove(&types[i])
	}
	st.checkWhole()
	out := st.out
	st.out = nil
	return out, st.wait
}

func (st *stream) push(r *response) {
	st.nonce++
	r.nonce = strconv.FormatUint(st.nonce, 36)
	st.out = append(st.out, r)
	if r.foreign != "" {
		return
	}
	st.inflight[r.nonce] = r
	st.subs[r.typ].unanswered = false
}

func (st *stream) ship(t resource.Type, items ...*item) {
	r := &response{typ: t}
	for _, it := range items {
		st.put(r, it, it.want())
	}
	st.push(r)
}

// put adds a version to a response, or a removal.
func (st *stream) put(r *response, it *item, v *version) {
	if len(it.sent) == 0 {
		it.at = st.now
	}
	it.sent = append(it.sent, v)
	it.force, it.unbound = false, nil
	st.noteSent(it.name, v)
	if v == nil {
		r.removed = append(r.removed, it.name.Name)
	} else {
		r.items = append(r.items, shipment{it.name, v})
	}
	st.touch(it)
}

// due lists what is to be sent of a type, by name: additions and changes, or removals.
func (st *stream) due(t resource.Type, removed bool) []*item {
	var due []*item
	for _, name := range slices.Sorted(maps.Keys(st.pending[t])) {
		if it := st.pending[t][name]; (it.want() == nil) == removed {
			due = append(due, it)
		}
	}
	return due
}

func (st *stream) later(at time.Time) {
	if st.wait.IsZero() || at.Before(st.wait) {
		st.wait = at
	}
}

func (st *stream) send(t *resource.TypeSpec) {
	sub := &st.subs[t.Type]
	if !sub.open {
		return
	}
	due := st.due(t.Type, false)
	if t.Removal == resource.WithAddition {
		due = append(st.due(t.Type, true), due...)
	}
	if t.InTurn {
		due = st.inTurn(t, due)
	}
	due = slices.DeleteFunc(due, func(it *item) bool { return !st.ready(t, it) })
	for _, group := range groups(t, due) {
		for _, it := range group {
			st.follow(t.Type, it)
		}
		st.ship(t.Type, group...)
	}
	if sub.unanswered {
		st.push(&response{typ: t.Type})
	}
}

// inTurn leaves out what has to wait for an answer. One response of a table is in flight, and one of all listeners:
// Envoy refuses a listener at an address that another one still has.
func (st *stream) inTurn(t *resource.TypeSpec, due []*item) []*item {
	inFlight := func(it *item) bool { return len(it.sent) > 0 }
	if t.Removal != resource.WithAddition {
		return slices.DeleteFunc(due, inFlight)
	}
	for _, it := range st.items[t.Type] {
		if inFlight(it) {
			return nil
		}
	}
	if st.embeds(t.Type) {
		return nil
	}
	return due
}

// embeds tells whether a resource is in flight that the proxy embeds in resources of a type: if it refuses the one, it
// refuses the others, too, until it is sent again what it accepted.
func (st *stream) embeds(t resource.Type) bool {
	for _, r := range st.inflight {
		if len(r.items) > 0 && slices.Contains(st.set.spec(r.typ).Embedded, t) {
			return true
		}
	}
	return false
}

// groups cuts items into those that travel together.
func groups(t *resource.TypeSpec, items []*item) [][]*item {
	var groups [][]*item
	var together []*item
	for _, it := range items {
		if t.Alone || it.alone {
			groups = append(groups, []*item{it})
		} else {
			together = append(together, it)
		}
	}
	if len(together) > 0 {
		groups = append(groups, together)
	}
	return groups
}

// followers are the resources that a version needs and that follow it: the endpoints of a cluster, the extensions of a
// listener.
func (st *stream) followers(t resource.Type, v *version) (list []*entry) {
	for _, p := range v.parts() {
		for _, n := range p.Needs {
			if st.set.spec(n.Type).Follows == resource.OnRequest || slices.Contains(st.set.spec(t).Awaits, n.Type) {
				continue
			}
			if e := st.set.lookup(n); e != nil && e.offer != nil {
				list = append(list, e)
			}
		}
	}
	return list
}

// follow marks a cluster's endpoints to be sent: Envoy warms a changed cluster without asking for them again; and a
// listener's extensions that the proxy does not have. Before the proxy has asked for any of the type it would drop
// them; it asks for them by itself then.
func (st *stream) follow(t resource.Type, user *item) {
	for _, e := range st.followers(t, user.want()) {
		sub := &st.subs[e.name.Type]
		if !sub.open || sub.got.has(e.slot) && st.set.spec(e.name.Type).Follows == resource.FirstUser {
			continue
		}
		var has *version
		if sub.got.has(e.slot) {
			has = e.offer
		}
		it := st.item(e.name, e, has)
		sub.got.set(e.slot)
		it.force = true
		st.touch(it)
	}
}

// ready tells whether everything that a resource newly names, and waits for, is at the proxy.
func (st *stream) ready(t *resource.TypeSpec, it *item) bool {
	if len(t.Awaits) == 0 {
		return true
	}
	for c := range resource.Changes(it.has.parts(), it.want().parts()) {
		if c.New != nil && slices.ContainsFunc(c.New.Needs, func(n resource.Name) bool {
			return slices.Contains(t.Awaits, n.Type) && st.subs[n.Type].open && !st.usable(n)
		}) {
			return false
		}
	}
	return true
}

// usable tells whether routes may name a cluster: it and its endpoints were sent, and if it is new and warms it was
// acknowledged, or that took too long.
func (st *stream) usable(n resource.Name) bool {
	e := st.set.lookup(n)
	if e == nil || e.offer == nil {
		return true // nothing will come
	}
	it := st.items[n.Type][n.Name]
	if it == nil || len(it.sent) == 0 {
		return true
	}
	warming := it.has == nil && !it.unknown && e.offer.res.Warms
	if !warming && st.followed(n.Type, e.offer) {
		return true
	}
	until := it.at.Add(patience)
	if st.now.Before(until) {
		st.later(until)
		return false
	}
	return true
}

// followed tells whether a cluster's endpoints were sent, as far as there are any.
func (st *stream) followed(t resource.Type, v *version) bool {
	return !slices.ContainsFunc(st.followers(t, v), func(e *entry) bool { return !st.subs[e.name.Type].got.has(e.slot) })
}

// standIn answers a first table that was refused: its listener is open by now.
func (st *stream) standIn(it *item) {
	t := st.set.spec(it.name.Type)
	if !t.Divisible || t.Placeholder == nil || it.has != nil || it.unknown || it.entry == nil {
		return
	}
	if o := it.entry.offer; o == nil || o.equal(it.refused) {
		sub := &st.subs[t.Type]
		sub.placeholders = append(sub.placeholders, it.name.Name)
	}
}

// placeholders answers names for which there is nothing to send, so that the proxy does not wait for them.
func (st *stream) placeholders(t *resource.TypeSpec) {
	names := st.subs[t.Type].placeholders
	st.subs[t.Type].placeholders = nil
	switch {
	case len(names) == 0, t.HasDefault:
	case t.Placeholder == nil:
		st.push(&response{typ: t.Type, removed: names})
	case !t.Alone:
		st.push(&response{typ: t.Type, empty: names})
	default:
		for _, n := range names {
			st.push(&response{typ: t.Type, empty: []string{n}, pending: st.set.entries[t.Type][n] != nil})
		}
	}
}
