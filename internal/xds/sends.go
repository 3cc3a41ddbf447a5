package xds

import (
	"sync"
	"time"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/resource"
)

// keptSends is how many sends are remembered of a Gateway: as many as the graph remembers turns.
const keptSends = 1000

// send is that a version of a resource was sent to a proxy, for the first time.
type send struct {
	name resource.Name
	rev  flow.Rev // of the graph, that the version shows
	at   time.Time
}

// sends are the last ones of a Gateway, the oldest at next when there are keptSends. It has a lock of its own, under
// which nothing else is locked: who asks may be in a View of the graph, for which the server waits with its locks held.
type sends struct {
	mu    sync.Mutex
	ring  []send
	next  int
	until flow.Rev // the newest revision of those that are forgotten
}

func (l *sends) add(s send) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ring) < keptSends {
		l.ring = append(l.ring, s)
		return
	}
	l.until = max(l.until, l.ring[l.next].rev)
	l.ring[l.next] = s
	l.next = (l.next + 1) % keptSends
}

// first is when a resource was first sent as it is since a revision; false if it was not, or if that is longer ago than
// is remembered.
func (l *sends) first(name resource.Name, since flow.Rev) (at time.Time, found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if since <= l.until {
		return time.Time{}, false
	}
	for _, s := range l.ring {
		if s.name == name && s.rev >= since && (!found || s.at.Before(at)) {
			at, found = s.at, true
		}
	}
	return at, found
}

// note remembers that a version is sent now.
func (st *stream) note(n resource.Name, v *version) {
	if v == nil || v.sent {
		return
	}
	v.sent = true
	st.set.sends.add(send{n, v.rev, st.now})
}

// Sent is when a proxy was first sent a resource as the graph says since a revision: with that turn's edits, or later
// ones. It is false if that did not happen, or is longer ago than is remembered. It may be called in a View.
func (s *Server) Sent(key resource.Key, since flow.Rev) (time.Time, bool) {
	kept, found := s.sends.Load(key.Gateway)
	if !found {
		return time.Time{}, false
	}
	return kept.(*sends).first(resource.Name{Type: key.Type, Name: key.Name}, since)
}
