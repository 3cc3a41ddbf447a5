package xds

import (
	"time"

	"cardea.dev/cardea/internal/resource"
)

// What a proxy refuses is refused for all of its Gateway's proxies, as long as it is there. When it is gone (a
// pod of a rollout, whose image was at fault) the others are asked, once for each proxy that goes: one that refuses it
// again answers for it from then on. A proxy that comes back is the same by its node's id and its version, and nothing
// is tried again for it.

// absence is how long a proxy is away before it is gone.
const absence = time.Minute

// disconnected ends what waits for a proxy whose stream ended. What it refused for good stays for a while: it may come
// back.
func (s *set) disconnected(st *stream) {
	for e := range s.suspended {
		if r := e.refusal; r != nil && r.stream == st && (e.state == onTrial || r.silent) {
			s.withdraw(e)
			s.serve(e)
		}
	}
	if s.trial != nil && s.trial.proxy == st {
		s.trial = nil
	}
	s.openTrial(st.now)
	if len(s.rejections)+len(s.suspended) == 0 || st.id == "" {
		return
	}
	for other := range s.streams {
		if other.who() == st.who() {
			return
		}
		other.wake() // to look again when it is gone
	}
	s.absent[st.who()] = st.now
}

// endAbsences offers again what was refused by proxies that are gone.
func (st *stream) endAbsences() {
	s := st.set
	for proxy, since := range s.absent {
		if until := since.Add(absence); st.now.Before(until) {
			st.later(until)
			continue
		}
		delete(s.absent, proxy)
		s.end(func(_ resource.RefusalKey, r *rejection) bool { return r.by == proxy })
		for e := range s.suspended {
			if e.state == rejected && e.refusal.stream.who() == proxy {
				s.serve(e)
			}
		}
	}
}
