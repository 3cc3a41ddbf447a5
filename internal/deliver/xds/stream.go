package xds

import (
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"cardea.dev/cardea/internal/core/resource"
)

// stream is how one proxy differs from its Gateway's set: what it has not been sent, has not acknowledged or did not
// accept. A name without an item is accepted: the proxy acknowledged what the set offers. Not safe for concurrent use;
// the set's lock guards it, too.
type stream struct {
	set    *set
	id     string // of its node
	proxy  string // its version
	joined uint64 // the newest version when it connected
	wake   func() // tells the goroutine around it that there may be something to send

	subs     [resource.TypeCount]subscription
	items    [resource.TypeCount]map[string]*item
	pending  [resource.TypeCount]map[string]*item // those in this state
	inflight map[string]*response                 // by nonce
	nonce    uint64

	whole  bool      // it acknowledged a whole configuration
	now    time.Time // of this step
	closed []string  // listeners of trials that are over, to be removed

	out  []*response // of this step
	wait time.Time   // when to look again though nothing happened; zero: never
	took []took      // of this step
}

// subscription is what a proxy asked for of one type.
type subscription struct {
	open       bool // it asked at all; clusters and listeners are then all asked for
	unanswered bool // the type is to be answered, even if by nothing
	asked      bits // names that it subscribed to, by slot
	got        bits // names that it was sent, or brought along, by slot

	absent       map[string]struct{} // names that it subscribed to and that the set does not have
	placeholders []string            // names to be answered without a resource
}

// item is one name in which the proxy differs from the set.
type item struct {
	name    resource.Name
	state   proxyState
	entry   *entry     // nil if the set does not have the name
	has     *version   // what the proxy acknowledged last; nil if it has nothing, or something unknown
	unknown bool       // the proxy may have a version that is not the set's
	sent    []*version // in flight, oldest first; a nil element is a removal
	force   bool       // to be sent though it was sent
	alone   bool       // it travels alone: it shared a refused response in which no resource was named
	at      time.Time  // when the oldest of what is in flight was sent
	refused *version   // what the proxy refused; not sent again before the resource serves
	unbound *version   // its address could not be bound; not sent again before its time
	tries   int        // how often, one after the other, it could not bind the address
	again   time.Time  // when unbound is sent again
}

type response struct {
	typ     resource.Type
	foreign string // a type URL that the dialect does not have
	nonce   string
	items   []shipment
	removed []string
	empty   []string   // placeholders: names answered without content
	pending bool       // they are known, but there is nothing to send yet
	trial   *trial     // what it belongs to; its names are no resources of the set
	group   []*suspect // which are tried
}

type shipment struct {
	name resource.Name
	v    *version
}

// took is how long it was from an edit to a proxy's acknowledgement.
type took struct {
	typ resource.Type
	d   time.Duration
}

func newStream(s *set, id, proxy string) *stream {
	st := &stream{set: s, id: id, proxy: proxy, joined: s.seq, wake: func() {}, inflight: map[string]*response{}}
	for t := range st.items {
		st.subs[t].absent = map[string]struct{}{}
		st.items[t] = map[string]*item{}
		st.pending[t] = map[string]*item{}
	}
	delete(s.absent, st.who())
	s.streams[st] = struct{}{}
	s.recount()
	return st
}

// who identifies the proxy. After a restart with another version it is another proxy.
func (st *stream) who() resource.Proxy { return resource.Proxy{Node: st.id, Version: st.proxy} }

func (st *stream) close() {
	delete(st.set.streams, st)
	st.set.disconnected(st)
	st.set.recount()
	st.set.tidy()
}

// want is what the proxy should have: what is offered. While the resource does not serve, it keeps what it has or is
// about to have: another proxy refused something of it.
func (it *item) want() *version {
	if it.entry == nil {
		return nil
	}
	if it.entry.state != serving {
		if v, _ := it.last(); v != nil {
			return v
		}
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
	if !st.set.wildcard(e.name.Type) {
		if _, ok := sub.absent[name]; ok && e.offer != nil {
			delete(sub.absent, name)
			sub.asked.set(e.slot)
		}
		leaves := e.current == nil && st.items[e.name.Type][name] != nil
		if !sub.asked.has(e.slot) && !sub.got.has(e.slot) && !leaves {
			return
		}
	}
	if e.current == nil {
		st.dropped(e, old)
	} else {
		if e.offer != nil {
			sub.got.set(e.slot)
		}
		st.touch(st.item(e.name, e, old))
	}
	st.wake()
}

func (st *stream) dropped(e *entry, old *version) {
	sub := &st.subs[e.name.Type]
	it := st.item(e.name, nil, old)
	it.refused, it.unbound = nil, nil
	if !st.set.wildcard(e.name.Type) {
		if sub.asked.has(e.slot) {
			sub.absent[e.name.Name] = struct{}{}
		}
		sub.asked.clear(e.slot)
		sub.got.clear(e.slot)
	}
	st.touch(it)
}

// accepted is what the proxy acknowledged of a resource; uses is false if it never asked for it.
func (st *stream) accepted(e *entry) (v *version, uses bool) {
	sub := &st.subs[e.name.Type]
	if it := st.items[e.name.Type][e.name.Name]; it != nil {
		return it.has, true
	}
	if !sub.open || !st.set.wildcard(e.name.Type) && !sub.asked.has(e.slot) && !sub.got.has(e.slot) {
		return nil, false
	}
	return e.offer, true
}

func (st *stream) request(req *discoveryv3.DeltaDiscoveryRequest) {
	spec := st.set.ofURL(req.GetTypeUrl())
	if spec == nil {
		st.foreign(req)
		return
	}
	t := spec.Type
	if req.GetResponseNonce() != "" {
		st.answer(t, req.GetResponseNonce(), req.GetErrorDetail())
	}
	sub := &st.subs[t]
	first := !sub.open
	sub.open = true
	if !spec.ByName {
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
		if !st.isTrial(n) {
			st.subscribe(n, v, has)
		}
	}
	if first && spec.Follows != resource.OnRequest {
		st.followLate(spec)
	}
}

// followLate has resources follow those that were sent before the proxy could take both.
func (st *stream) followLate(t *resource.TypeSpec) {
	for _, user := range t.UsedBy {
		for _, it := range st.items[user] {
			if len(it.sent) > 0 && it.want() != nil && !st.followed(user, it.want()) {
				st.follow(user, it)
			}
		}
	}
}

// foreign answers a type that we don't serve: whatever was asked for does not exist. Silence would hold the proxy's
// listeners.
func (st *stream) foreign(req *discoveryv3.DeltaDiscoveryRequest) {
	if len(req.GetResourceNamesSubscribe()) == 0 && req.GetResponseNonce() != "" {
		return
	}
	st.push(&response{foreign: req.GetTypeUrl(), removed: req.GetResourceNamesSubscribe()})
}

// openAll answers the first request for clusters or listeners: it compares what the proxy brought along with the set.
func (st *stream) openAll(t resource.Type, brought map[string]string) {
	// If the proxy has nothing of a type, the type is answered, even if by nothing; and each stream has at least one
	// response, since else Envoy waits longer and longer before it connects again.
	st.subs[t].unanswered = len(brought) == 0 || st.nonce == 0
	for name, e := range st.set.entries[t] {
		v, has := brought[name]
		if has && e.offer != nil && e.offer.res.Version == v {
			continue
		}
		it := &item{name: e.name, entry: e, unknown: has}
		if has && e.current.res.Version == v {
			it.has, it.unknown = e.current, false // another proxy refused what this one accepted
		}
		st.touch(it)
	}
	for name := range brought {
		if st.set.entries[t][name] == nil {
			st.touch(&item{name: resource.Name{Type: t, Name: name}, unknown: true})
		}
	}
	for e := range st.set.unconfirmed {
		if e.name.Type == t && st.items[t][e.name.Name] == nil {
			st.set.confirm(e) // it brought it along
		}
	}
}

func (st *stream) subscribe(n resource.Name, brought string, has bool) {
	sub, e, it := &st.subs[n.Type], st.set.lookup(n), st.items[n.Type][n.Name]
	if e == nil {
		sub.absent[n.Name] = struct{}{}
		switch {
		case it != nil && (it.has != nil || len(it.sent) > 0):
			// It was sent unasked, and left since: empty endpoints would fail those who still use it.
		case has && brought != placeholderVersion:
			// It belongs to something that leaves, too; what the proxy has must serve until then.
			it = st.item(n, nil, nil)
			it.unknown = true
			st.touch(it)
		case !has:
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
	// A proxy that brought along what it accepted of an embedded resource may use what it refused since.
	embedded := e.state != serving && len(st.set.spec(n.Type).Embedded) > 0
	if !again && (pushed || has && it == nil && brought == e.offer.res.Version && !embedded) {
		st.set.confirm(e) // pushed is what followed unasked
		return
	}
	var acknowledged *version
	if again {
		acknowledged = e.offer
	}
	it = st.item(n, e, acknowledged)
	it.unknown = it.unknown || has
	it.force = true
	st.touch(it)
}

func (st *stream) unsubscribe(n resource.Name) {
	sub := &st.subs[n.Type]
	delete(sub.absent, n.Name)
	e := st.set.lookup(n)
	if it := st.items[n.Type][n.Name]; it != nil && st.set.spec(n.Type).Follows == resource.EachChange {
		if v, _ := it.last(); v != nil && len(it.sent) > 0 {
			// They followed their cluster, which is back. This message crossed them; the proxy asks again.
			if e != nil {
				sub.asked.clear(e.slot)
			}
			return
		}
	}
	delete(st.items[n.Type], n.Name)
	delete(st.pending[n.Type], n.Name)
	if e != nil {
		sub.asked.clear(e.slot)
		sub.got.clear(e.slot)
		st.set.confirm(e) // it may have been the only one that had not acknowledged
	}
}
