package xds

import (
	"slices"
	"strings"

	statuspb "google.golang.org/genproto/googleapis/rpc/status"

	"cardea.dev/cardea/internal/resource"
)

// answer takes an acknowledgement (no detail) or a refusal of a response.
func (st *stream) answer(t resource.Type, nonce string, detail *statuspb.Status) {
	r := st.inflight[nonce]
	if r == nil || r.typ != t {
		return
	}
	delete(st.inflight, nonce)
	if r.ward != nil {
		st.count(t, detail)
		st.examined(r, detail != nil, strings.TrimSpace(detail.GetMessage()))
		return
	}
	for _, name := range r.removed {
		n := resource.Name{Type: t, Name: name}
		st.landed(n, nil)
		if e := st.set.lookup(n); e != nil { // it is back
			st.set.confirm(e)
		}
	}
	st.count(t, detail)
	if detail != nil {
		st.nacked(r, strings.TrimSpace(detail.GetMessage()))
		return
	}
	for _, s := range r.items {
		it := st.landed(s.name, s.v)
		if it == nil {
			continue
		}
		e := it.entry
		if !it.first {
			st.tale.took = append(st.tale.took, took{t, st.now.Sub(s.v.at)})
		}
		it.first = false
		if e != nil {
			st.set.bound(e)
			st.set.confirm(e)
		}
	}
}

func (st *stream) count(t resource.Type, detail *statuspb.Status) {
	if detail != nil {
		st.tale.nacks[t]++
	} else {
		st.tale.acks[t]++
	}
}

// landed notes that the proxy has a version, or nothing.
func (st *stream) landed(n resource.Name, v *version) *item {
	it := st.items[n.Type][n.Name]
	if it == nil {
		return nil
	}
	i := slices.Index(it.sent, v)
	if i < 0 {
		return nil
	}
	it.sent = slices.Delete(it.sent, i, i+1)
	it.has, it.unknown, it.no, it.tries = v, false, nil, 0
	st.touch(it)
	return it
}

// nacked takes a refusal. Whom the proxy names is refused. What else was in the response is sent again, be it as it was before by now: most of it
// was applied, but the proxy has no version for it.
func (st *stream) nacked(r *response, message string) {
	culprits := culprits(r.typ, r.names(), message)
	if len(culprits) == 0 && len(r.items) > 1 {
		st.split(r)
	}
	for _, s := range r.items {
		it := st.items[s.name.Type][s.name.Name]
		if it == nil {
			continue
		}
		if i := slices.Index(it.sent, s.v); i >= 0 {
			it.sent = slices.Delete(it.sent, i, i+1)
		}
		words, refused := culprits[s.name.Name]
		switch {
		case !refused:
			it.unknown = true
		case it.entry == nil:
		case !it.entry.offer.equal(s.v): // something else is on its way
			st.standIn(it)
		case cannotBind(s, words):
			it.no = s.v
			st.postpone(it, words)
		default:
			it.no, it.tries = s.v, 0
			st.set.refuse(st, it.entry, it.has, words)
			st.standIn(it)
			st.restore(it)
		}
		st.touch(it)
	}
	if r.typ == resource.Cluster {
		st.unfollow(r)
	}
}

// restore sends the secret again that the proxy accepted before one that it refused: Envoy makes new filter chains with what it was sent last.
func (st *stream) restore(it *item) {
	if it.name.Type == resource.Secret && it.has != nil && it.has == it.want() {
		it.force, it.first = true, true // no edit is acknowledged by it
	}
}

// split cuts a response that was refused for nobody's sake into halves, which are sent each on its own: the culprit is
// found when it travels alone.
func (st *stream) split(r *response) {
	st.groups += 2
	for i, s := range r.items {
		if it := st.items[s.name.Type][s.name.Name]; it != nil {
			it.group = st.groups - i*2/len(r.items)
		}
	}
}

// unfollow forgets that endpoints were pushed behind clusters that were refused: the proxy may have dropped them.
func (st *stream) unfollow(r *response) {
	sub := &st.subs[resource.Endpoints]
	for _, s := range r.items {
		for _, p := range s.v.parts() {
			for _, n := range p.Needs {
				if n.Type != resource.Endpoints {
					continue
				}
				if e := st.set.lookup(n); e != nil && !sub.asked.has(e.slot) {
					sub.got.clear(e.slot)
				}
			}
		}
	}
}
