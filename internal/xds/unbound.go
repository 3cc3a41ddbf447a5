package xds

import (
	"slices"
	"strings"
	"time"

	"cardea.dev/cardea/internal/resource"
)

// A listener that a proxy could not bind is tried again after firstTry, and then later each time, up to lastTry: another process has the port,
// or the machine not yet the address. That is between this proxy and its machine. Other proxies get the listener, and if one took it nothing
// is taken back from it. The listener's address is refused (in Feedback.Refused) until a proxy has the listener and none could not bind it.
const (
	firstTry = time.Second
	lastTry  = 15 * time.Second
)

// cannotBind tells whether a proxy refused a listener for an address that it could not bind. Envoy looks at the content first.
func cannotBind(s shipment, words string) bool {
	said, is := strings.CutPrefix(words, namings[resource.Listener].prefix+s.name.Name+": cannot bind '")
	return is && s.name.Type == resource.Listener &&
		slices.ContainsFunc(s.v.res.Binds, func(address string) bool { return strings.HasPrefix(said, address+"'") })
}

// unable is what is refused of a listener for its address.
type unable struct {
	offer *version
	said  resource.Refusal
	keys  []resource.RefusalKey
}

// postpone has a listener that the proxy could not bind tried again.
func (st *stream) postpone(it *item, words string) {
	it.again = st.now.Add(min(firstTry<<it.tries, lastTry))
	it.tries = min(it.tries+1, 10)
	st.postponed[it] = struct{}{}
	st.set.cannotBind(it.entry, resource.Refusal{Type: it.name.Type, Name: it.name.Name, Version: st.proxy, Message: words})
}

// tryPostponed tries again what could not be bound and is as it was, when its time has come.
func (st *stream) tryPostponed() {
	for it := range st.postponed {
		switch {
		case st.items[it.name.Type][it.name.Name] != it, it.no == nil, it.tries == 0:
			delete(st.postponed, it) // it left, or something else was sent
		case st.now.Before(it.again):
			st.later(it.again)
		default:
			delete(st.postponed, it)
			it.no = nil
			st.touch(it)
		}
	}
}

// cannotBind makes the row of a listener's address: of all in it that is no filter chain.
func (s *set) cannotBind(e *entry, said resource.Refusal) {
	if u := s.unbound[e]; u.offer == e.offer && u.said == said {
		return // it was tried again
	}
	var charges []charge
	var keys []resource.RefusalKey
	for _, x := range untried(s.accused(e, nil, e.offer)) {
		charges = append(charges, charge{fragment: x.fragment, said: said, whole: true})
		keys = append(keys, s.refusalKey(x.fragment))
	}
	s.convict(resource.Proxy{}, charges)
	s.unbound[e] = unable{e.offer, said, keys}
}

// bound ends that a listener's address is refused, when a proxy has the listener, and there is none that could not bind it.
func (s *set) bound(e *entry) {
	u, some := s.unbound[e]
	if !some || e.offer == nil {
		return
	}
	has := false
	for st := range s.streams {
		if it := st.items[e.name.Type][e.name.Name]; it != nil && it.tries > 0 {
			return
		}
		v, uses := st.accepted(e)
		has = has || uses && v.equal(e.offer)
	}
	if !has {
		return
	}
	delete(s.unbound, e)
	for _, k := range u.keys {
		s.pardon(k)
	}
}
