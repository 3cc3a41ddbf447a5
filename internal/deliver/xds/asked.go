package xds

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// These methods are for explain. All may be called in a View: under the server's locks nothing waits for the graph.

// readSet calls f with a Gateway's set, if there is one.
func (s *Server) readSet(gateway model.ObjectRef, f func(*gatewaySet)) {
	s.mu.Lock()
	set := s.sets[gateway]
	s.mu.Unlock()
	if set != nil {
		set.mu.Lock()
		defer set.mu.Unlock()
		f(set)
	}
}

// ProxyProgress tells how far each connected proxy of a Gateway is with a resource, by the proxies' nodes.
func (s *Server) ProxyProgress(key resource.Key) (list []resource.ConnectedProxy) {
	s.readSet(key.Gateway, func(s *gatewaySet) { list = s.proxyProgress(resource.Name{Type: key.Type, Name: key.Name}) })
	return list
}

func (s *gatewaySet) proxyProgress(n resource.Name) (list []resource.ConnectedProxy) {
	e := s.lookup(n)
	for st := range s.streams {
		p := st.proxyID()
		if e != nil {
			newest, uses := st.isNewest(e)
			p.Acknowledged = uses && newest
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b resource.ConnectedProxy) int { return strings.Compare(a.Node, b.Node) })
	return list
}

// isNewest tells whether the proxy has acknowledged a resource as it is now: as the graph says, or as it is offered
// while it serves. uses is false if it never asked for it.
func (st *stream) isNewest(e *entry) (newest, uses bool) {
	v, uses := st.acceptedVersion(e)
	return v != nil && (v.sameAs(e.current) || v.sameAs(e.offer) && e.state == serving), uses
}

// SeenRevision is the revision of the graph up to which all of it was taken: what Behind counts is of that one or a
// later one.
func (s *Server) SeenRevision() flow.Rev { return flow.Rev(s.seen.Load()) }

// CountBehind counts the resources that each connected proxy uses and has not acknowledged as they are now.
func (s *Server) CountBehind() map[model.ObjectRef]map[resource.ConnectedProxy]int {
	s.mu.Lock()
	all := make(map[model.ObjectRef]map[resource.ConnectedProxy]int, len(s.sets))
	for gateway := range s.sets {
		all[gateway] = nil
	}
	s.mu.Unlock()
	for gateway := range all {
		s.readSet(gateway, func(s *gatewaySet) { all[gateway] = s.countBehind() })
	}
	return all
}

// countBehind counts it. Two streams of a node count as one: one of them is about to end.
func (s *gatewaySet) countBehind() map[resource.ConnectedProxy]int {
	n := map[resource.ConnectedProxy]int{}
	for st := range s.streams {
		n[st.proxyID()] += 0
		for range st.differingEntries() {
			n[st.proxyID()]++
		}
	}
	return n
}

// differingEntries are the resources that the proxy uses and has not acknowledged as they are now. It costs what
// differs at it, and what is offered in place of what the graph says.
func (st *stream) differingEntries() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		differ := maps.Clone(st.set.divergent) // what is in neither is accepted as the graph says
		for _, items := range st.items {
			for _, it := range items {
				if it.entry != nil {
					differ[it.entry] = struct{}{}
				}
			}
		}
		for e := range differ {
			if newest, uses := st.isNewest(e); uses && !newest && !yield(e) {
				return
			}
		}
	}
}

// CountUnanswered counts the resources that connected proxies use, and have neither acknowledged nor refused as they
// are now. A refusal is no answer if nobody knows what it is about.
func (s *Server) CountUnanswered() map[model.ObjectRef]int {
	s.mu.Lock()
	all := make(map[model.ObjectRef]int, len(s.sets))
	for gateway := range s.sets {
		all[gateway] = 0
	}
	s.mu.Unlock()
	for gateway := range all {
		s.readSet(gateway, func(s *gatewaySet) { all[gateway] = s.countUnanswered() })
	}
	return all
}

func (s *gatewaySet) countUnanswered() (n int) {
	for st := range s.streams {
		for e := range st.differingEntries() {
			if !st.hasRefused(e) {
				n++
			}
		}
	}
	return n
}

// hasRefused tells whether a resource was refused for good as it is now, and the proxy keeps what it has.
func (st *stream) hasRefused(e *entry) bool {
	it := st.items[e.name.Type][e.name.Name]
	switch {
	case it != nil && it.state == unbound:
		return true
	case e.state != rejected || it != nil && (it.state == pending || it.state == sent):
		return false
	}
	for _, f := range eachFragment(e.current) {
		if st.set.isRejected(f) {
			return true
		}
	}
	return false
}

// FindOffer is what a Gateway's proxies are offered of a resource in place of what the graph says, nil if they are
// offered nothing; apart is false if they are offered what the graph says.
func (s *Server) FindOffer(key resource.Key) (instead *resource.Resource, apart bool) {
	s.readSet(key.Gateway, func(s *gatewaySet) {
		e := s.lookup(resource.Name{Type: key.Type, Name: key.Name})
		if e == nil {
			return
		}
		if _, leaving := s.deleting[e]; e.offer == e.current && !leaving {
			return
		}
		if apart = true; e.offer != nil {
			instead = &e.offer.res
		}
	})
	return instead, apart
}

// FirstSent is when a proxy was first sent a resource as the graph says since a revision: with that turn's edits, or
// later ones. It is false if that did not happen, or is longer ago than is remembered.
func (s *Server) FirstSent(key resource.Key, since flow.Rev) (at time.Time, found bool) {
	s.readSet(key.Gateway, func(s *gatewaySet) {
		at, found = s.sends.firstSince(resource.Name{Type: key.Type, Name: key.Name}, since)
	})
	return at, found
}

// maxSendRecords is how many sends are remembered of a Gateway: as many as the graph remembers turns.
const maxSendRecords = 1000

// sendRecord is that a version of a resource was sent to a proxy, for the first time.
type sendRecord struct {
	name resource.Name
	rev  flow.Rev // of the graph, that the version shows
	at   time.Time
}

// sendLog are the last ones of a Gateway, the oldest at next when there are maxSendRecords.
type sendLog struct {
	ring           []sendRecord
	next           int
	forgottenUntil flow.Rev // the newest revision of those that are forgotten
}

func (st *stream) noteSent(n resource.Name, v *version) {
	if v == nil || v.sent {
		return
	}
	v.sent = true
	l, s := &st.set.sends, sendRecord{n, v.rev, st.now}
	if len(l.ring) < maxSendRecords {
		l.ring = append(l.ring, s)
		return
	}
	l.forgottenUntil = max(l.forgottenUntil, l.ring[l.next].rev)
	l.ring[l.next] = s
	l.next = (l.next + 1) % maxSendRecords
}

// firstSince is when a resource was first sent as it is since a revision.
func (l *sendLog) firstSince(name resource.Name, since flow.Rev) (at time.Time, found bool) {
	if since <= l.forgottenUntil {
		return time.Time{}, false
	}
	for _, s := range l.ring {
		if s.name == name && s.rev >= since && (!found || s.at.Before(at)) {
			at, found = s.at, true
		}
	}
	return at, found
}
