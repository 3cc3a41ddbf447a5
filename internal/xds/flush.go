package xds

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"cardea.dev/cardea/internal/resource"
)

// patience is how long a route table waits for a new cluster that warms, or for what a proxy has not asked for yet.
const patience = 5 * time.Second

// step ends a step: it returns what may be sent now, in this order, and when to look again at the latest.
func (st *stream) step() ([]*response, time.Time) {
	st.wait = time.Time{}
	st.absolve()
	st.overdue()
	st.set.tidy()
	for _, t := range resource.Types() {
		st.placeholders(t)
	}
	st.secrets()
	st.clusters()
	st.endpoints()
	st.tryPostponed()
	st.listeners()
	st.routes()
	st.wards()
	st.removals(resource.Cluster)
	st.removals(resource.Endpoints)
	st.removals(resource.Secret)
	st.checkWhole()
	out := st.out
	st.out = nil
	return out, st.wait
}

// push queues a response.
func (st *stream) push(r *response) {
	st.nonce++
	r.nonce = strconv.FormatUint(st.nonce, 36)
	st.out = append(st.out, r)
	if r.foreign != "" {
		return
	}
	st.inflight[r.nonce] = r
	st.subs[r.typ].greet = false
}

// ship queues a response of items, which are then in flight.
func (st *stream) ship(t resource.Type, items ...*item) {
	r := &response{typ: t}
	for _, it := range items {
		v := it.want()
		if len(it.sent) == 0 {
			it.at = st.now
		}
		it.sent = append(it.sent, v)
		it.force = false
		st.note(it.name, v)
		if v == nil {
			r.removed = append(r.removed, it.name.Name)
		} else {
			r.items = append(r.items, shipment{it.name, v})
		}
		st.touch(it)
	}
	st.push(r)
}

// due lists what is to be sent of a type, by name: adds and changes, or removals.
func (st *stream) due(t resource.Type, removed bool) []*item {
	var due []*item
	for _, name := range slices.Sorted(maps.Keys(st.dirty[t])) {
		if it := st.dirty[t][name]; (it.want() == nil) == removed {
			due = append(due, it)
		}
	}
	return due
}

// later asks to look again at a time.
func (st *stream) later(at time.Time) {
	if st.wait.IsZero() || at.Before(st.wait) {
		st.wait = at
	}
}

// clusters sends those that are new or changed, and has their endpoints follow.
func (st *stream) clusters() {
	sub := &st.subs[resource.Cluster]
	if !sub.open {
		return
	}
	for _, group := range byGroup(st.due(resource.Cluster, false)) {
		for _, it := range group {
			st.follow(it)
		}
		st.ship(resource.Cluster, group...)
	}
	if sub.greet {
		st.push(&response{typ: resource.Cluster})
	}
}

// follow marks a cluster's endpoints to be sent: Envoy warms a changed cluster without asking for them again. Before the
// proxy has asked for any endpoints it would drop them; it asks for them by itself then.
func (st *stream) follow(cluster *item) {
	sub := &st.subs[resource.Endpoints]
	if !sub.open {
		return
	}
	for _, p := range cluster.want().parts() {
		for _, n := range p.Needs {
			if n.Type != resource.Endpoints {
				continue
			}
			e := st.set.lookup(n)
			if e == nil || e.offer == nil {
				continue
			}
			it := st.items[n.Type][n.Name]
			if it == nil {
				it = &item{name: n, entry: e}
				if sub.got.has(e.slot) {
					it.has = e.offer
				}
			}
			it.first = it.first || cluster.first
			sub.got.set(e.slot)
			it.force = true
			st.touch(it)
		}
	}
}

func (st *stream) endpoints() {
	for _, group := range byGroup(st.due(resource.Endpoints, false)) {
		st.ship(resource.Endpoints, group...)
	}
}

// secrets travel alone: one that Envoy can't use must not hide what became of the others. They go first: it makes clusters and filter chains with
// those that it has.
func (st *stream) secrets() {
	for _, it := range st.due(resource.Secret, false) {
		st.ship(resource.Secret, it)
	}
}

// routes travel alone, one response of a table in flight.
func (st *stream) routes() {
	for _, it := range st.due(resource.Routes, false) {
		if len(it.sent) == 0 && st.ready(it) {
			st.ship(resource.Routes, it)
		}
	}
}

// ready tells whether everything that a table newly names is at the proxy.
func (st *stream) ready(it *item) bool {
	if !st.subs[resource.Cluster].open {
		return true
	}
	ready := true
	for c := range diff(it.has.parts(), it.want().parts()) {
		if c.new == nil {
			continue
		}
		for _, n := range c.new.Needs {
			if n.Type == resource.Cluster && !st.usable(n) {
				ready = false
			}
		}
	}
	return ready
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
	if !warming && st.followed(e) {
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
func (st *stream) followed(cluster *entry) bool {
	for _, p := range cluster.offer.parts() {
		for _, n := range p.Needs {
			if n.Type != resource.Endpoints {
				continue
			}
			if e := st.set.lookup(n); e != nil && e.offer != nil && !st.subs[n.Type].got.has(e.slot) {
				return false
			}
		}
	}
	return true
}

// byGroup cuts items into those that travel together.
func byGroup(items []*item) [][]*item {
	var groups [][]*item
	index := map[int]int{}
	for _, it := range items {
		i, ok := index[it.group]
		if !ok {
			i = len(groups)
			index[it.group] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], it)
	}
	return groups
}

// standIn answers a first table that was refused: its listener is open by now.
func (st *stream) standIn(it *item) {
	if it.name.Type != resource.Routes || it.has != nil || it.unknown || it.entry == nil {
		return
	}
	if o := it.entry.offer; o == nil || o.equal(it.no) {
		sub := &st.subs[resource.Routes]
		sub.placeholders = append(sub.placeholders, it.name.Name)
	}
}

// placeholders answers names that the set can't serve, so that the proxy does not wait for them.
func (st *stream) placeholders(t resource.Type) {
	sub := &st.subs[t]
	names := sub.placeholders
	sub.placeholders = nil
	if len(names) == 0 {
		return
	}
	switch t {
	case resource.Secret:
		st.push(&response{typ: t, removed: names})
	case resource.Routes:
		for _, n := range names {
			st.push(&response{typ: t, empty: []string{n}, waiting: st.set.entries[t][n] != nil})
		}
	default:
		st.push(&response{typ: t, empty: names})
	}
}
