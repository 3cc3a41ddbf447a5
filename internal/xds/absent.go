package xds

import (
	"time"

	"cardea.dev/cardea/internal/resource"
)

// What a proxy refuses is refused for all of its Gateway's proxies, as long as it is there. When it is gone for good (a pod of a rollout, whose image
// was at fault) the others are asked. They are asked once for each proxy that goes: who refuses it again answers for it from then on. A proxy that
// comes back (it starts again, or shows anew who it is) is the same by its node's id and its version, and nothing is tried again for it.

// absence is how long a proxy is away before it is gone for good.
const absence = time.Minute

// departs notes that a proxy went which refused something that still is refused.
func (s *set) departs(st *stream) {
	if st.id == "" || s.connected(st.who()) || !s.refuses(st.who()) {
		return
	}
	s.gone[st.who()] = st.now
	for other := range s.streams {
		if other.wake != nil {
			other.wake() // to look again when it is gone for good
		}
	}
}

func (s *set) connected(proxy resource.Proxy) bool {
	for st := range s.streams {
		if st.who() == proxy {
			return true
		}
	}
	return false
}

// refuses tells whether anything is refused because of what a proxy said.
func (s *set) refuses(proxy resource.Proxy) bool {
	for _, g := range s.blame.refused {
		if g.by == proxy {
			return true
		}
	}
	for _, byName := range s.entries {
		for _, e := range byName {
			if e.refused != nil && e.refusedBy == proxy {
				return true
			}
		}
	}
	return false
}

// absolve offers again what was refused by proxies that are gone for good.
func (st *stream) absolve() {
	for proxy, left := range st.set.gone {
		if until := left.Add(absence); st.now.Before(until) {
			st.later(until)
			continue
		}
		delete(st.set.gone, proxy)
		st.set.absolve(proxy)
	}
}

func (s *set) absolve(proxy resource.Proxy) {
	for k, g := range s.blame.refused {
		if g.by == proxy {
			s.pardon(k)
		}
	}
	for _, byName := range s.entries {
		for _, e := range byName {
			switch {
			case e.refused != nil && e.refusedBy == proxy:
				s.tryAgain(e)
			case e.held:
				s.settle(e)
			}
		}
	}
}
