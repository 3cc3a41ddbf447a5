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
	set    *gatewaySet
	id     string // of its node
	proxy  string // its version
	joined uint64 // the newest version when it connected
	wake   func() // tells the goroutine around it that there may be something to send

	subs     []subscription       // by type
	items    []map[string]*item   // by type
	pending  []map[string]*item   // by type, those in this state
	inflight map[string]*response // by nonce
	nonce    uint64

	hasWhole bool      // it acknowledged a whole configuration
	now      time.Time // of this step
	closed   []string  // listeners of trials that are over, to be removed

	out          []*response  // of this step
	wait         time.Time    // when to look again though nothing happened; zero: never
	ackLatencies []ackLatency // of this step
}

// subscription is what a proxy asked for of one type.
type subscription struct {
	open       bool    // it asked at all; clusters and listeners are then all asked for
	unanswered bool    // the type is to be answered, even if by nothing
	asked      slotSet // names that it subscribed to, by slot
	known      slotSet // names that it was sent, or brought along, by slot

	absent       map[string]struct{} // names that it subscribed to and that the set does not have
	placeholders []string            // names to be answered without a resource
}

// item is one name in which the proxy differs from the set.
type item struct {
	name         resource.Name
	state        proxyState
	entry        *entry     // nil if the set does not have the name
	acknowledged *version   // what the proxy acknowledged last; nil if it has nothing, or something unknown
	unknown      bool       // the proxy may have a version that is not the set's
	sent         []*version // in flight, oldest first; a nil element is a removal
	resend       bool       // to be sent though it was sent
	travelsAlone bool       // it travels alone: it shared a refused response in which no resource was named
	at           time.Time  // when the oldest of what is in flight was sent
	refused      *version   // what the proxy refused; not sent again before the resource serves
	unbound      *version   // its address could not be bound; not sent again before its time
	bindFailures int        // how often, one after the other, it could not bind the address
	retryAt      time.Time  // when unbound is sent again
}

type response struct {
	typ          resource.Type
	unknownType  string // a type URL that the dialect does not have
	nonce        string
	items        []sentResource
	removed      []string
	placeholders []string   // placeholders: names answered without content
	pending      bool       // they are known, but there is nothing to send yet
	trial        *trial     // what it belongs to; its names are no resources of the set
	group        []*suspect // which are tried
}

type sentResource struct {
	name resource.Name
	v    *version
}

// ackLatency is how long it was from an edit to a proxy's acknowledgement.
type ackLatency struct {
	typ resource.Type
	d   time.Duration
}

func newStream(s *gatewaySet, id, proxy string) *stream {
	st := &stream{set: s, id: id, proxy: proxy, joined: s.seq, wake: func() {},
		subs: make([]subscription, len(s.specs)), items: make([]map[string]*item, len(s.specs)),
		pending: make([]map[string]*item, len(s.specs)), inflight: map[string]*response{}}
	for t := range st.items {
		st.subs[t].absent = map[string]struct{}{}
		st.items[t] = map[string]*item{}
		st.pending[t] = map[string]*item{}
	}
	delete(s.absentSince, st.proxyID())
	s.streams[st] = struct{}{}
	s.recountProxies()
	return st
}

// proxyID identifies the proxy. After a restart with another version it is another proxy.
func (st *stream) proxyID() resource.ConnectedProxy {
	return resource.ConnectedProxy{Node: st.id, Version: st.proxy}
}

func (st *stream) close() {
	delete(st.set.streams, st)
	st.set.onDisconnect(st)
	st.set.recountProxies()
	st.set.dropObsolete()
}

// wantedVersion is what the proxy should have: what is offered. While the resource does not serve, it keeps what it has
// or is about to have: another proxy refused something of it.
func (it *item) wantedVersion() *version {
	if it.entry == nil {
		return nil
	}
	if it.entry.state != serving {
		if v, _ := it.lastSent(); v != nil {
			return v
		}
	}
	return it.entry.offer
}

// lastSent is what the proxy will have when it took everything in flight.
func (it *item) lastSent() (v *version, unknown bool) {
	if n := len(it.sent); n > 0 {
		return it.sent[n-1], false
	}
	return it.acknowledged, it.unknown
}

// findItem finds or makes the item of a resource; has is what the proxy acknowledged if there is none.
func (st *stream) findItem(n resource.Name, e *entry, has *version) *item {
	it := st.items[n.Type][n.Name]
	if it == nil {
		it = &item{name: n, acknowledged: has}
	}
	it.entry = e
	return it
}

// onOffer is told by the set that a resource has another offer than old.
func (st *stream) onOffer(e *entry, old *version) {
	sub := &st.subs[e.name.Type]
	if !sub.open {
		return
	}
	name := e.name.Name
	if !st.set.isWildcard(e.name.Type) {
		if _, ok := sub.absent[name]; ok && e.offer != nil {
			delete(sub.absent, name)
			sub.asked.add(e.slot)
		}
		leaves := e.current == nil && st.items[e.name.Type][name] != nil
		if !sub.asked.contains(e.slot) && !sub.known.contains(e.slot) && !leaves {
			return
		}
	}
	if e.current == nil {
		st.onDrop(e, old)
	} else {
		if e.offer != nil {
			sub.known.add(e.slot)
		}
		st.refreshItem(st.findItem(e.name, e, old))
	}
	st.wake()
}

func (st *stream) onDrop(e *entry, old *version) {
	sub := &st.subs[e.name.Type]
	it := st.findItem(e.name, nil, old)
	it.refused, it.unbound = nil, nil
	if !st.set.isWildcard(e.name.Type) {
		if sub.asked.contains(e.slot) {
			sub.absent[e.name.Name] = struct{}{}
		}
		sub.asked.remove(e.slot)
		sub.known.remove(e.slot)
	}
	st.refreshItem(it)
}

// acceptedVersion is what the proxy acknowledged of a resource; uses is false if it never asked for it.
func (st *stream) acceptedVersion(e *entry) (v *version, uses bool) {
	sub := &st.subs[e.name.Type]
	if it := st.items[e.name.Type][e.name.Name]; it != nil {
		return it.acknowledged, true
	}
	if !sub.open || !st.set.isWildcard(e.name.Type) && !sub.asked.contains(e.slot) && !sub.known.contains(e.slot) {
		return nil, false
	}
	return e.offer, true
}

func (st *stream) onRequest(req *discoveryv3.DeltaDiscoveryRequest) {
	spec := st.set.specOfURL(req.GetTypeUrl())
	if spec == nil {
		st.answerUnknownType(req)
		return
	}
	t := spec.Type
	if req.GetResponseNonce() != "" {
		st.onAnswer(t, req.GetResponseNonce(), req.GetErrorDetail())
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
	if first && spec.Push != resource.OnRequest {
		st.markLateFollowers(spec)
	}
}

// markLateFollowers has resources follow those that were sent before the proxy could take both.
func (st *stream) markLateFollowers(t *typeSpec) {
	for _, user := range t.UsedBy {
		for _, it := range st.items[user] {
			if len(it.sent) > 0 && it.wantedVersion() != nil && !st.followersSent(user, it.wantedVersion()) {
				st.markFollowers(user, it)
			}
		}
	}
}

// answerUnknownType answers a type that we don't serve: whatever was asked for does not exist. Silence would hold the
// proxy's listeners.
func (st *stream) answerUnknownType(req *discoveryv3.DeltaDiscoveryRequest) {
	if len(req.GetResourceNamesSubscribe()) == 0 && req.GetResponseNonce() != "" {
		return
	}
	st.pushResponse(&response{unknownType: req.GetTypeUrl(), removed: req.GetResourceNamesSubscribe()})
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
			it.acknowledged, it.unknown = e.current, false // another proxy refused what this one accepted
		}
		st.refreshItem(it)
	}
	for name := range brought {
		if st.set.entries[t][name] == nil {
			st.refreshItem(&item{name: resource.Name{Type: t, Name: name}, unknown: true})
		}
	}
	for e := range st.set.unconfirmed {
		if e.name.Type == t && st.items[t][e.name.Name] == nil {
			st.set.confirmAcked(e) // it brought it along
		}
	}
}

func (st *stream) subscribe(n resource.Name, brought string, has bool) {
	sub, e, it := &st.subs[n.Type], st.set.lookup(n), st.items[n.Type][n.Name]
	if e == nil {
		sub.absent[n.Name] = struct{}{}
		switch {
		case it != nil && (it.acknowledged != nil || len(it.sent) > 0):
			// It was sent unasked, and left since: empty endpoints would fail those who still use it.
		case has && brought != placeholderVersion:
			// It belongs to something that leaves, too; what the proxy has must serve until then.
			it = st.findItem(n, nil, nil)
			it.unknown = true
			st.refreshItem(it)
		case !has:
			sub.placeholders = append(sub.placeholders, n.Name)
		}
		return
	}
	again, pushed := sub.asked.contains(e.slot), sub.known.contains(e.slot)
	sub.asked.add(e.slot)
	if e.offer == nil {
		if !has {
			sub.placeholders = append(sub.placeholders, n.Name)
		}
		return
	}
	sub.known.add(e.slot)
	// A proxy that brought along what it accepted of an embedded resource may use what it refused since.
	embedded := e.state != serving && len(st.set.spec(n.Type).Embedded) > 0
	if !again && (pushed || has && it == nil && brought == e.offer.res.Version && !embedded) {
		st.set.confirmAcked(e) // pushed is what followed unasked
		return
	}
	var acknowledged *version
	if again {
		acknowledged = e.offer
	}
	it = st.findItem(n, e, acknowledged)
	it.unknown = it.unknown || has
	it.resend = true
	st.refreshItem(it)
}

func (st *stream) unsubscribe(n resource.Name) {
	sub := &st.subs[n.Type]
	delete(sub.absent, n.Name)
	e := st.set.lookup(n)
	if it := st.items[n.Type][n.Name]; it != nil && st.set.spec(n.Type).Push == resource.EachChange {
		if v, _ := it.lastSent(); v != nil && len(it.sent) > 0 {
			// They followed their cluster, which is back. This message crossed them; the proxy asks again.
			if e != nil {
				sub.asked.remove(e.slot)
			}
			return
		}
	}
	delete(st.items[n.Type], n.Name)
	delete(st.pending[n.Type], n.Name)
	if e != nil {
		sub.asked.remove(e.slot)
		sub.known.remove(e.slot)
		st.set.confirmAcked(e) // it may have been the only one that had not acknowledged
	}
}
