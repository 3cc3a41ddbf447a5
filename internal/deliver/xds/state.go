package xds

// resourceState says what proxies are offered of a resource. See the package comment for the transitions.
type resourceState uint8

const (
	serving   resourceState = iota // what the graph says
	onTrial                        // what was accepted: which of the suspects are bad is not known yet
	replacing                      // what was accepted: the graph has not put substitutes in the place of what is bad yet
	rejected                       // what was accepted: the resource was refused as a whole
)

// proxyState says how far a proxy is with a resource. A proxy that has what it should have needs no item: it has
// accepted.
type proxyState uint8

const (
	accepted proxyState = iota // it has what it should have
	pending                    // to be sent
	sent                       // in flight
	refused                    // it refused what is offered, and keeps what it has
	unbound                    // it could not bind the listener's address, and is sent the listener again later
)

// transitionHooks tells tests of each transition, of resources and of proxies.
var transitionHooks struct {
	resource func(from, to resourceState)
	proxy    func(from, to proxyState)
}

func (s *gatewaySet) enterState(e *entry, to resourceState) {
	if transitionHooks.resource != nil {
		transitionHooks.resource(e.state, to)
	}
	e.state = to
	setMember(s.suspended, e, to != serving)
}

// refreshItem finds the state of an item after something of it changed, and files it by that.
func (st *stream) refreshItem(it *item) {
	t, name := it.name.Type, it.name.Name
	to := st.stateOf(it)
	if transitionHooks.proxy != nil {
		transitionHooks.proxy(it.state, to)
	}
	if it.state = to; to == pending {
		st.pending[t][name] = it
	} else {
		delete(st.pending[t], name)
	}
	want := it.wantedVersion()
	if to == accepted && it.acknowledged.sameAs(want) && (it.entry == nil || want == it.entry.offer) {
		delete(st.items[t], name)
	} else {
		st.items[t][name] = it
	}
}

func (st *stream) stateOf(it *item) proxyState {
	want := it.wantedVersion()
	last, unknown := it.lastSent()
	due := it.resend || unknown || !last.sameAs(want)
	if want == nil {
		// Only what left is removed. A proxy keeps what it has of a resource that was refused and never accepted.
		due = it.entry == nil && (unknown || last != nil)
	}
	held := it.entry != nil && it.entry.state != serving
	switch {
	case want != nil && want.sameAs(it.unbound):
		return unbound
	case due && !(held && want.sameAs(it.refused)):
		return pending
	case len(it.sent) > 0:
		return sent
	case held && it.refused != nil:
		return refused
	}
	return accepted
}
