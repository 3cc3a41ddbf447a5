package xds

import (
	"slices"
	"strings"
	"time"

	statuspb "google.golang.org/genproto/googleapis/rpc/status"

	"cardea.dev/cardea/internal/core/resource"
)

// answer takes an acknowledgement (no detail) or a refusal of a response.
func (st *stream) answer(t resource.Type, nonce string, detail *statuspb.Status) {
	r := st.inflight[nonce]
	if r == nil || r.typ != t {
		return
	}
	delete(st.inflight, nonce)
	if open := st.set.trial; open != nil && open.proxy == st && !open.sent { // it waits for an extension, or a secret
		open.at = st.now
	}
	if r.trial != nil {
		st.tried(r, detail != nil, st.words(r, detail))
		return
	}
	for _, name := range r.removed {
		n := resource.Name{Type: t, Name: name}
		st.landed(n, nil)
		if e := st.set.lookup(n); e != nil { // it is back
			st.set.confirm(e)
		}
	}
	if detail != nil {
		st.nacked(r, st.words(r, detail))
		return
	}
	for _, s := range r.items {
		it := st.items[t][s.name.Name]
		isNew := it != nil && s.v.seq > st.joined && !s.v.equal(it.has)
		if st.landed(s.name, s.v) == nil {
			continue
		}
		if isNew {
			st.took = append(st.took, took{t, st.now.Sub(s.v.at)})
		}
		if it.entry != nil {
			st.bound(it.name)
			st.set.confirm(it.entry)
		}
	}
}

// words are what a proxy said of a response, without what must not be shown.
func (st *stream) words(r *response, detail *statuspb.Status) string {
	said := strings.TrimSpace(detail.GetMessage())
	if said == "" {
		return ""
	}
	for _, s := range r.items {
		var was *version
		if it := st.items[r.typ][s.name.Name]; it != nil {
			was = it.has
		}
		said = st.set.Refusals.Words(r.typ, was.parts(), s.v.parts(), said)
	}
	return said
}

func (st *stream) landed(n resource.Name, v *version) *item {
	it := st.items[n.Type][n.Name]
	if it == nil {
		return nil
	}
	if !it.arrived(v) {
		return nil
	}
	if v != nil {
		it.refused = nil
	}
	it.has, it.unknown, it.unbound, it.tries = v, false, nil, 0
	st.touch(it)
	return it
}

// arrived takes a version out of those that are in flight.
func (it *item) arrived(v *version) bool {
	i := slices.Index(it.sent, v)
	if i >= 0 {
		it.sent = slices.Delete(it.sent, i, i+1)
	}
	return i >= 0
}

// nacked takes a refusal of the resources that the proxy's words name. The other resources of the response are sent
// again, even if they are now as before: the proxy applied most of them, but has no version for them.
func (st *stream) nacked(r *response, message string) {
	names := make([]string, 0, len(r.items))
	for _, s := range r.items {
		names = append(names, s.name.Name)
	}
	named := st.set.Refusals.Read(r.typ, names, message)
	for _, s := range r.items {
		it := st.items[s.name.Type][s.name.Name]
		if it == nil {
			continue
		}
		it.arrived(s.v)
		st.forgetFirst(r.typ, s.v)
		reason, isNamed := named[s.name.Name]
		switch {
		case !isNamed:
			it.unknown, it.alone = true, len(named) == 0 // what is bad is found when it travels alone
		case it.entry == nil:
		case !it.entry.offer.equal(s.v): // something else is on its way
			st.standIn(it)
		case reason.Kind != resource.ContentRefused && slices.Contains(s.v.res.Binds, reason.Address):
			st.postpone(it, s.v, reason)
		default:
			it.tries = 0
			st.refuse(it, reason.Message)
			st.standIn(it)
		}
		st.restore(it)
		st.touch(it)
	}
}

// restore sends again at once what a proxy accepted of an embedded resource, since it uses what it refused. If it has
// accepted none it goes back to the default; not if it may have one that it brought along.
func (st *stream) restore(it *item) {
	t := st.set.spec(it.name.Type)
	if len(t.Embedded) == 0 || it.entry == nil || len(it.sent) > 0 {
		return
	}
	v := it.want()
	if v.equal(it.refused) { // others accepted it
		v = nil
	}
	if v != nil || t.HasDefault && !it.unknown {
		r := &response{typ: t.Type}
		st.put(r, it, v)
		st.push(r)
	}
}

// forgetFirst has what was sent behind a resource for the first time be sent again: a proxy that refused the resource
// dropped it.
func (st *stream) forgetFirst(t resource.Type, v *version) {
	for _, e := range st.followers(t, v) {
		if n := e.name; st.set.spec(n.Type).Follows == resource.FirstUser && !st.subs[n.Type].asked.has(e.slot) {
			st.unsubscribe(n)
		}
	}
}

// A listener that a proxy could not bind is sent again after firstTry, and then later each time, up to lastTry: another
// process has the port, or the machine not yet the address. This concerns one proxy and its machine: other proxies are
// offered the listener as before. The listener's address is rejected until this proxy binds it, or is gone.
const (
	firstTry = time.Second
	lastTry  = 15 * time.Second
)

func (st *stream) postpone(it *item, v *version, why resource.Reason) {
	s, e := st.set, it.entry
	it.unbound, it.again = v, st.now.Add(min(firstTry<<it.tries, lastTry))
	it.tries = min(it.tries+1, 10)
	said := resource.Refusal{Kind: why.Kind, Type: it.name.Type, Name: it.name.Name, Version: st.proxy,
		Message: why.Message}
	s.rejectWholly(&refusal{stream: st, said: said}, withoutPieces(s.suspects(e, nil, v)))
}

func (st *stream) retryUnbound() {
	for _, it := range st.items[resource.Listener] {
		switch {
		case it.state != unbound:
		case st.now.Before(it.again):
			st.later(it.again)
		default:
			it.unbound = nil
			st.touch(it)
		}
	}
}

// bound ends that a listener's address is rejected because of this proxy, which has the listener now.
func (st *stream) bound(n resource.Name) {
	if len(st.set.rejections) == 0 || n.Type != resource.Listener {
		return
	}
	st.set.end(func(_ resource.RefusalKey, r *rejection) bool {
		return r.said.Kind != resource.ContentRefused && r.by == st.who() && r.said.Name == n.Name
	})
}
