package xds

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"cardea.dev/cardea/internal/core/resource"
)

// warmTimeout is how long a route table waits for a new cluster that warms, or for what a proxy has not asked for yet.
const warmTimeout = 5 * time.Second

// runStep ends a step: it returns what may be sent now, in this order, and when to look again at the latest.
func (st *stream) runStep() ([]*response, time.Time) {
	st.wait = time.Time{}
	st.endAbsences()
	st.endSilence()
	st.set.dropObsolete()
	types := st.set.specs
	for i := range types {
		st.sendPlaceholders(&types[i])
	}
	st.retryUnbound()
	for i := range types {
		st.sendType(&types[i])
	}
	st.sendTrials()
	for i := range slices.Backward(types) {
		st.sendRemovals(&types[i])
	}
	st.checkWhole()
	out := st.out
	st.out = nil
	return out, st.wait
}

func (st *stream) pushResponse(r *response) {
	st.nonce++
	r.nonce = strconv.FormatUint(st.nonce, 36)
	st.out = append(st.out, r)
	if r.unknownType != "" {
		return
	}
	st.inflight[r.nonce] = r
	st.subs[r.typ].unanswered = false
}

func (st *stream) pushItems(t resource.Type, items ...*item) {
	r := &response{typ: t}
	for _, it := range items {
		st.addToResponse(r, it, it.wantedVersion())
	}
	st.pushResponse(r)
}

// addToResponse adds a version to a response, or a removal.
func (st *stream) addToResponse(r *response, it *item, v *version) {
	if len(it.sent) == 0 {
		it.at = st.now
	}
	it.sent = append(it.sent, v)
	it.resend, it.unbound = false, nil
	st.noteSent(it.name, v)
	if v == nil {
		r.removed = append(r.removed, it.name.Name)
	} else {
		r.items = append(r.items, sentResource{it.name, v})
	}
	st.refreshItem(it)
}

// dueItems lists what is to be sent of a type, by name: additions and changes, or removals.
func (st *stream) dueItems(t resource.Type, removed bool) []*item {
	var due []*item
	for _, name := range slices.Sorted(maps.Keys(st.pending[t])) {
		if it := st.pending[t][name]; (it.wantedVersion() == nil) == removed {
			due = append(due, it)
		}
	}
	return due
}

func (st *stream) wakeAt(at time.Time) {
	if st.wait.IsZero() || at.Before(st.wait) {
		st.wait = at
	}
}

func (st *stream) sendType(t *typeSpec) {
	sub := &st.subs[t.Type]
	if !sub.open {
		return
	}
	due := st.dueItems(t.Type, false)
	if t.Removal == resource.WithAddition {
		due = append(st.dueItems(t.Type, true), due...)
	}
	if t.OneInFlight {
		due = st.inTurn(t, due)
	}
	due = slices.DeleteFunc(due, func(it *item) bool { return !st.isReady(t, it) })
	for _, group := range groupItems(t, due) {
		for _, it := range group {
			st.markFollowers(t.Type, it)
		}
		st.pushItems(t.Type, group...)
	}
	if sub.unanswered {
		st.pushResponse(&response{typ: t.Type})
	}
}

// inTurn leaves out what has to wait for an answer. One response of a table is in flight, and one of all listeners:
// Envoy refuses a listener at an address that another one still has.
func (st *stream) inTurn(t *typeSpec, due []*item) []*item {
	inFlight := func(it *item) bool { return len(it.sent) > 0 }
	if t.Removal != resource.WithAddition {
		return slices.DeleteFunc(due, inFlight)
	}
	for _, it := range st.items[t.Type] {
		if inFlight(it) {
			return nil
		}
	}
	if st.hasEmbeddedInFlight(t.Type) {
		return nil
	}
	return due
}

// hasEmbeddedInFlight tells whether a resource is in flight that the proxy embeds in resources of a type: if it refuses
// the one, it refuses the others, too, until it is sent again what it accepted.
func (st *stream) hasEmbeddedInFlight(t resource.Type) bool {
	for _, r := range st.inflight {
		if len(r.items) > 0 && slices.Contains(st.set.spec(r.typ).Embedded, t) {
			return true
		}
	}
	return false
}

// groupItems cuts items into those that travel together.
func groupItems(t *typeSpec, items []*item) [][]*item {
	var groups [][]*item
	var together []*item
	for _, it := range items {
		if t.OnePerResponse || it.travelsAlone {
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

// followersOf are the resources that a version needs and that follow it: the endpoints of a cluster, the extensions of
// a listener.
func (st *stream) followersOf(t resource.Type, v *version) (list []*entry) {
	for _, p := range v.parts() {
		for _, n := range p.Needs {
			if st.set.spec(n.Type).Push == resource.OnRequest || slices.Contains(st.set.spec(t).Awaits, n.Type) {
				continue
			}
			if e := st.set.lookup(n); e != nil && e.offer != nil {
				list = append(list, e)
			}
		}
	}
	return list
}

// markFollowers marks a cluster's endpoints to be sent: Envoy warms a changed cluster without asking for them again;
// and a listener's extensions that the proxy does not have. Before the proxy has asked for any of the type it would
// drop them; it asks for them by itself then.
func (st *stream) markFollowers(t resource.Type, user *item) {
	for _, e := range st.followersOf(t, user.wantedVersion()) {
		sub := &st.subs[e.name.Type]
		if !sub.open || sub.known.contains(e.slot) && st.set.spec(e.name.Type).Push == resource.FirstUser {
			continue
		}
		var has *version
		if sub.known.contains(e.slot) {
			has = e.offer
		}
		it := st.findItem(e.name, e, has)
		sub.known.add(e.slot)
		it.resend = true
		st.refreshItem(it)
	}
}

// isReady tells whether everything that a resource newly names, and waits for, is at the proxy.
func (st *stream) isReady(t *typeSpec, it *item) bool {
	if len(t.Awaits) == 0 {
		return true
	}
	for c := range resource.DiffParts(it.acknowledged.parts(), it.wantedVersion().parts()) {
		if c.New != nil && slices.ContainsFunc(c.New.Needs, func(n resource.Name) bool {
			return slices.Contains(t.Awaits, n.Type) && st.subs[n.Type].open && !st.isUsable(n)
		}) {
			return false
		}
	}
	return true
}

// isUsable tells whether routes may name a cluster: it and its endpoints were sent, and if it is new and warms it was
// acknowledged, or that took too long.
func (st *stream) isUsable(n resource.Name) bool {
	e := st.set.lookup(n)
	if e == nil || e.offer == nil {
		return true // nothing will come
	}
	it := st.items[n.Type][n.Name]
	if it == nil || len(it.sent) == 0 {
		return true
	}
	warming := it.acknowledged == nil && !it.unknown && e.offer.res.Warms
	if !warming && st.followersSent(n.Type, e.offer) {
		return true
	}
	until := it.at.Add(warmTimeout)
	if st.now.Before(until) {
		st.wakeAt(until)
		return false
	}
	return true
}

// followersSent tells whether a cluster's endpoints were sent, as far as there are any.
func (st *stream) followersSent(t resource.Type, v *version) bool {
	return !slices.ContainsFunc(st.followersOf(t, v),
		func(e *entry) bool { return !st.subs[e.name.Type].known.contains(e.slot) })
}

// queuePlaceholder answers a first table that was refused: its listener is open by now.
func (st *stream) queuePlaceholder(it *item) {
	t := st.set.spec(it.name.Type)
	if !t.Divisible || t.Placeholder == nil || it.acknowledged != nil || it.unknown || it.entry == nil {
		return
	}
	if o := it.entry.offer; o == nil || o.sameAs(it.refused) {
		sub := &st.subs[t.Type]
		sub.placeholders = append(sub.placeholders, it.name.Name)
	}
}

// sendPlaceholders answers names for which there is nothing to send, so that the proxy does not wait for them.
func (st *stream) sendPlaceholders(t *typeSpec) {
	names := st.subs[t.Type].placeholders
	st.subs[t.Type].placeholders = nil
	switch {
	case len(names) == 0, t.HasDefault:
	case t.Placeholder == nil:
		st.pushResponse(&response{typ: t.Type, removed: names})
	case !t.OnePerResponse:
		st.pushResponse(&response{typ: t.Type, placeholders: names})
	default:
		for _, n := range names {
			st.pushResponse(&response{typ: t.Type, placeholders: []string{n}, pending: st.set.entries[t.Type][n] != nil})
		}
	}
}
