package xds

import (
	"time"

	"cardea.dev/cardea/internal/resource"
)

// A listener that a proxy could not bind is sent again after firstTry, and then later each time, up to lastTry: another
// process has the port, or the machine not yet the address. That is between this proxy and its machine. Other proxies
// are offered the listener as before. The listener's address is rejected until this proxy binds it, or is gone.
const (
	firstTry = time.Second
	lastTry  = 15 * time.Second
)

// postpone has a listener that the proxy could not bind sent again later.
func (st *stream) postpone(it *item, v *version, why resource.Reason) {
	s, e := st.set, it.entry
	it.unbound, it.again = v, st.now.Add(min(firstTry<<it.tries, lastTry))
	it.tries = min(it.tries+1, 10)
	said := resource.Refusal{Kind: why.Kind, Type: it.name.Type, Name: it.name.Name, Version: st.proxy,
		Message: why.Message}
	var list []content
	for _, x := range withoutPieces(s.suspects(e, nil, v)) {
		list = append(list, content{x.fragment, rejection{said: said, by: st.who(), whole: true}})
	}
	s.reject(list)
}

// retryUnbound has what could not be bound sent again when its time has come.
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
