package xds

import "time"

// What a proxy refuses is refused for all of its Gateway's proxies, as long as it is there. When it is gone for good (a pod of a rollout, whose image
// was at fault) the others are asked. They are asked once for each proxy that goes: who refuses it again answers for it from then on. A proxy that
// comes back (it starts again, or shows anew who it is) is the same by its node's id, and nothing is tried again for it.

// absence is how long a proxy is away before it is gone for good.
const absence = time.Minute

// departs notes that a proxy went which refused something that still is refused.
func (s *set) departs(st *stream) {
	if st.id == "" || s.connected(st.id) || !s.refuses(st.id) {
		return
	}
	s.gone[st.id] = st.now
	for other := range s.streams {
		if other.wake != nil {
			other.wake() // to look again when it is gone for good
		}
	}
}

func (s *set) connected(id string) bool {
	for st := range s.streams {
		if st.id == id {
			return true
		}
	}
	return false
}

// refuses tells whether anything is refused because of what a proxy said.
func (s *set) refuses(id string) bool {
	for _, g := range s.blame.refused {
		if g.by == id {
			return true
		}
	}
	for _, byName := range s.entries {
		for _, e := range byName {
			if e.refused != nil && e.refusedBy == id {
				return true
			}
		}
	}
	return false
}

// absolve offers again what was refused by proxies that are gone for good.
func (st *stream) absolve() {
	for id, left := range st.set.gone {
		if until := left.Add(absence); st.now.Before(until) {
			st.later(until)
			continue
		}
		delete(st.set.gone, id)
		st.set.absolve(id)
	}
}

func (s *set) absolve(id string) {
	for k, g := range s.blame.refused {
		if g.by == id {
			s.pardon(k)
		}
	}
	for _, byName := range s.entries {
		for _, e := range byName {
			switch {
			case e.refused != nil && e.refusedBy == id:
				s.tryAgain(e)
			case e.held:
				s.settle(e)
			}
		}
	}
}
