package xds

import (
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"cardea.dev/cardea/internal/resource"
)

// stream is how one proxy differs from its Gateway's set: what it has not been sent, has not acknowledged or did not accept.
// A name without an item is settled: the proxy acknowledged what the set offers. Not safe for concurrent use; the set's lock
// guards it, too.
type stream struct {
	set   *set
	id    string // of its node
	proxy string // its version
	wake  func() // tells the goroutine around it that there may be something to send; nil in tests

	subs     [typeCount]subscription
	items    [typeCount]map[string]*item
	dirty    [typeCount]map[string]*item
	inflight map[string]*response // by nonce
	nonce    uint64
	groups   int // numbers given to the halves of refused responses

	whole      bool
	routesSeen bool      // nothing that the proxy brought along is unknown any more
	opened     time.Time // when it asked for listeners
	now        time.Time // of this step

	postponed map[*item]struct{} // listeners to be tried again
	closed    []string           // wards to be taken away
	silences  int                // for how many wards, one after the other, it said nothing in time
	silent    *ward              // the last of these

	out  []*response // of this step
	wait time.Time   // when to look again though nothing happened; zero: never
	tale tale
}

// subscription is what a proxy asked for of one type.
type subscription struct {
	open  bool // it asked at all; clusters and listeners are then all asked for
	greet bool // the type is to be answered, even if by nothing
	asked bits // names that it subscribed to, by slot
	got   bits // names that it was sent, or brought along, by slot
	// absent are names that it subscribed to and that the set does not have.
	absent map[string]struct{}
	// placeholders are names to be answered without a resource.
	placeholders []string
}

// item is one name in which the proxy differs from the set.
type item struct {
	name    resource.Name
	entry   *entry     // nil if the set does not have the name
	has     *version   // what the proxy acknowledged last; nil if it has nothing, or something unknown
	unknown bool       // it brought along a version that is not the set's
	sent    []*version // in flight, oldest first; a nil element is a removal
	first   bool       // it was to be sent when the proxy connected
	force   bool       // to be sent though it was sent
	group   int        // items of one group travel together; 0 is the group of all that were not refused
	at      time.Time  // when the oldest of what is in flight was sent
	no      *version   // what the proxy refused last: not to be sent again
	tries   int        // in how many of them, one after the other, a listener could not be bound
	again   time.Time  // when it is tried again
}

// response is one message to the proxy.
type response struct {
	typ     resource.Type
	foreign string // a type URL that is none of ours
	nonce   string
	items   []shipment
	removed []string
	empty   []string // placeholders: names answered without content
	waiting bool     // they are known, but there is nothing to send yet
	ward    *ward    // what it belongs to; its names are no resources of the set
	slot    slot     // what of the ward is tried
}

// shipment is one resource in a response.
type shipment struct {
	name resource.Name
	v    *version
}

// tale is what metrics are made of.
type tale struct {
	acks, nacks [typeCount]int
	took        []took
}

type took struct {
	typ resource.Type
	d   time.Duration
}

func newStream(s *set, id, proxy string) *stream {
	st := &stream{set: s, id: id, proxy: proxy, inflight: map[string]*response{}, postponed: map[*item]struct{}{}}
	for t := range st.items {
		st.items[t] = map[string]*item{}
		st.dirty[t] = map[string]*item{}
	}
	delete(s.gone, st.who())
	s.streams[st] = struct{}{}
	s.recount()
	return st
}

// who is the proxy: one that is started again with another version is another one.
func (st *stream) who() resource.Proxy { return resource.Proxy{Node: st.id, Version: st.proxy} }

// close forgets the stream.
func (st *stream) close() {
	delete(st.set.streams, st)
	st.set.stirred = true
	st.set.undrive(st)
	st.speaks()
	st.set.departs(st)
	st.set.recount()
	st.set.tidy()
}

func wildcard(t resource.Type) bool { return t == resource.Cluster || t == resource.Listener }

// want is what the proxy should have. A proxy that accepted what another one refused keeps it, and all do while a table is held.
func (it *item) want() *version {
	if it.entry == nil {
		return nil
	}
	if it.has != nil && (it.entry.held || it.has == it.entry.current) {
		return it.has
	}
	return it.entry.offer
}

// last is what the proxy will have when it took everything in flight.
func (it *item) last() (v *version, unknown bool) {
	if n := len(it.sent); n > 0 {
		return it.sent[n-1], false
	}
	return it.has, it.unknown
}

// touch files an item after it changed: to be sent, in flight, or settled.
func (st *stream) touch(it *item) {
	t, want := it.name.Type, it.want()
	last, unknown := it.last()
	dirty := it.force || unknown || !last.equal(want)
	if want == nil {
		// Only what left is removed. Of what was refused and has no stand-in the proxy keeps what it has.
		dirty = it.entry == nil && (unknown || last != nil)
	} else if want.equal(it.no) {
		dirty = false
	}
	if dirty {
		st.dirty[t][it.name.Name] = it
	} else {
		delete(st.dirty[t], it.name.Name)
	}
	settled := !dirty && len(it.sent) == 0 && !it.unknown && it.has.equal(want) && (it.entry == nil || want == it.entry.offer)
	if settled {
		delete(st.items[t], it.name.Name)
	} else {
		st.items[t][it.name.Name] = it
	}
}

// item finds or makes the item of a resource; has is what the proxy acknowledged if there is none.
func (st *stream) item(n resource.Name, e *entry, has *version) *item {
	it := st.items[n.Type][n.Name]
	if it == nil {
		it = &item{name: n, has: has}
	}
	it.entry = e
	return it
}

// offered is told by the set that a resource has another offer than old.
func (st *stream) offered(e *entry, old *version) {
	sub := &st.subs[e.name.Type]
	if !sub.open {
		return
	}
	name := e.name.Name
	if !wildcard(e.name.Type) {
		if _, ok := sub.absent[name]; ok && e.offer != nil {
			delete(sub.absent, name)
			sub.asked.set(e.slot)
		}
		if !sub.asked.has(e.slot) && !sub.got.has(e.slot) {
			return
		}
	}
	if e.current == nil {
		st.left(e, old)
	} else {
		if e.offer != nil {
			sub.got.set(e.slot)
		}
		it := st.item(e.name, e, old)
		if !e.held && e.refused == nil && !e.offer.equal(it.no) {
			it.no = nil // nothing stands in for what it refused: should that come back, it is tried again
		}
		st.touch(it)
	}
	if st.wake != nil {
		st.wake()
	}
}

// left handles a resource that the set has no more.
func (st *stream) left(e *entry, old *version) {
	sub := &st.subs[e.name.Type]
	it := st.item(e.name, nil, old)
	it.no = nil
	if !wildcard(e.name.Type) {
		if sub.asked.has(e.slot) {
			sub.ask(e.name.Name)
		}
		sub.asked.clear(e.slot)
		sub.got.clear(e.slot)
	}
	st.touch(it)
}

func (sub *subscription) ask(name string) {
	if sub.absent == nil {
		sub.absent = map[string]struct{}{}
	}
	sub.absent[name] = struct{}{}
}

// accepted is what the proxy acknowledged of a resource; uses is false if it never asked for it.
func (st *stream) accepted(e *entry) (v *version, uses bool) {
	sub := &st.subs[e.name.Type]
	if it := st.items[e.name.Type][e.name.Name]; it != nil {
		return it.has, true
	}
	if !sub.open || !wildcard(e.name.Type) && !sub.asked.has(e.slot) && !sub.got.has(e.slot) {
		return nil, false
	}
	return e.offer, true
}

// request takes one message of the proxy.
func (st *stream) request(req *discoveryv3.DeltaDiscoveryRequest) {
	t, ok := resource.TypeOf(req.GetTypeUrl())
	if !ok {
		st.foreign(req)
		return
	}
	if req.GetResponseNonce() != "" {
		st.answer(t, req.GetResponseNonce(), req.GetErrorDetail())
	}
	sub := &st.subs[t]
	first := !sub.open
	sub.open = true
	if wildcard(t) {
		if first {
			st.openAll(t, req.GetInitialResourceVersions())
		}
		return
	}
	for _, name := range req.GetResourceNamesUnsubscribe() {
		st.unsubscribe(resource.Name{Type: t, Name: name})
	}
	for _, name := range req.GetResourceNamesSubscribe() {
		if name == "" || name == "*" {
			continue
		}
		n := resource.Name{Type: t, Name: name}
		v, has := req.GetInitialResourceVersions()[name]
		if !st.isWard(n) {
			st.subscribe(n, v, has)
		}
	}
	if first && t == resource.Endpoints {
		// Clusters that were sent before could not take theirs along.
		for _, it := range st.items[resource.Cluster] {
			if len(it.sent) > 0 && it.want() != nil && !st.followed(it.entry) {
				st.follow(it)
			}
		}
	}
}

// foreign answers a type that we don't serve: whatever was asked for does not exist. Silence would hold the proxy's listeners.
func (st *stream) foreign(req *discoveryv3.DeltaDiscoveryRequest) {
	if len(req.GetResourceNamesSubscribe()) == 0 && req.GetResponseNonce() != "" {
		return
	}
	st.push(&response{foreign: req.GetTypeUrl(), removed: req.GetResourceNamesSubscribe()})
}

// openAll answers the first request for clusters or listeners: it compares what the proxy brought along with the set.
func (st *stream) openAll(t resource.Type, brought map[string]string) {
	st.subs[t].greet = t == resource.Cluster || len(brought) == 0
	if t == resource.Listener {
		st.opened = st.now
	}
	for name, e := range st.set.entries[t] {
		v, has := brought[name]
		if has && e.offer != nil && e.offer.res.Version == v {
			continue
		}
		it := &item{name: e.name, entry: e, unknown: has, first: true}
		if has && e.current.res.Version == v {
			it.has, it.unknown = e.current, false // another proxy refused what this one accepted
		}
		st.touch(it)
	}
	for name := range brought {
		if st.set.entries[t][name] == nil {
			st.touch(&item{name: resource.Name{Type: t, Name: name}, unknown: true, first: true})
		}
	}
	st.confirmAll(t)
}

// confirmAll counts what a proxy brought along as acknowledged.
func (st *stream) confirmAll(t resource.Type) {
	for e := range st.set.unconfirmed {
		if e.name.Type == t && st.items[t][e.name.Name] == nil {
			st.set.confirm(e)
		}
	}
}

func (st *stream) subscribe(n resource.Name, brought string, has bool) {
	sub := &st.subs[n.Type]
	e := st.set.lookup(n)
	if e == nil {
		sub.ask(n.Name)
		if it := st.items[n.Type][n.Name]; it != nil && (it.has != nil || len(it.sent) > 0) {
			return // it was sent unasked, and left since: empty endpoints would fail those who still use it
		}
		if has && brought != placeholderVersion {
			// It belongs to something that leaves, too; what the proxy has must serve until then.
			it := st.item(n, nil, nil)
			it.unknown = true
			st.touch(it)
			return
		}
		if !has {
			sub.placeholders = append(sub.placeholders, n.Name)
		}
		return
	}
	again, pushed := sub.asked.has(e.slot), sub.got.has(e.slot)
	sub.asked.set(e.slot)
	if e.offer == nil {
		if !has {
			sub.placeholders = append(sub.placeholders, n.Name)
		}
		return
	}
	sub.got.set(e.slot)
	switch {
	case has && !again && brought == e.offer.res.Version && st.items[n.Type][n.Name] == nil:
		st.set.confirm(e)
	case pushed && !again:
		// The endpoints that followed their cluster unasked.
		st.set.confirm(e)
	default:
		it := st.item(n, e, nil)
		if again && st.items[n.Type][n.Name] == nil {
			it.has = e.offer
		}
		it.unknown = it.unknown || has
		it.force, it.first = true, !again
		st.touch(it)
	}
}

func (st *stream) unsubscribe(n resource.Name) {
	sub := &st.subs[n.Type]
	delete(sub.absent, n.Name)
	e := st.set.lookup(n)
	if it := st.items[n.Type][n.Name]; it != nil && n.Type == resource.Endpoints {
		if v, _ := it.last(); v != nil && len(it.sent) > 0 {
			// They followed their cluster, which is back. This message crossed them; the proxy asks again.
			if e != nil {
				sub.asked.clear(e.slot)
			}
			return
		}
	}
	delete(st.items[n.Type], n.Name)
	delete(st.dirty[n.Type], n.Name)
	if e != nil {
		sub.asked.clear(e.slot)
		sub.got.clear(e.slot)
		st.set.confirm(e) // it may have been the only one that had not acknowledged
	}
}
