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

// read calls f with a Gateway's set, if there is one.
func (s *Server) read(gateway model.ObjectRef, f func(*set)) {
	s.mu.Lock()
	set := s.sets[gateway]
	s.mu.Unlock()
	if set != nil {
		set.mu.Lock()
		defer set.mu.Unlock()
		f(set)
	}
}

// Each tells how far each connected proxy of a Gateway is with a resource, by the proxies' nodes.
func (s *Server) Each(key resource.Key) (list []resource.Proxy) {
	s.read(key.Gateway, func(s *set) { list = s.each(resource.Name{Type: key.Type, Name: key.Name}) })
	return list
}

func (s *set) each(n resource.Name) (list []resource.Proxy) {
	e := s.lookup(n)
	for st := range s.streams {
		p := st.who()
		if e != nil {
			newest, uses := st.newest(e)
			p.Acknowledged = uses && newest
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b resource.Proxy) int { return strings.Compare(a.Node, b.Node) })
	return list
}

// newest tells whether the proxy has acknowledged a resource as it is now: as the graph says, or as it is offered while
// it serves. uses is false if it never asked for it.
func (st *stream) newest(e *entry) (newest, uses bool) {
	v, uses := st.accepted(e)
	return v != nil && (v.equal(e.current) || v.equal(e.offer) && e.state == serving), uses
}

// Seen is the revision of the graph up to which all of it was taken: what Behind counts is of that one or a later one.
func (s *Server) Seen() flow.Rev { return flow.Rev(s.seen.Load()) }

// Behind counts the resources that each connected proxy uses and has not acknowledged as they are now.
func (s *Server) Behind() map[model.ObjectRef]map[resource.Proxy]int {
	s.mu.Lock()
	all := make(map[model.ObjectRef]map[resource.Proxy]int, len(s.sets))
	for gateway := range s.sets {
		all[gateway] = nil
	}
	s.mu.Unlock()
	for gateway := range all {
		s.read(gateway, func(s *set) { all[gateway] = s.behind() })
	}
	return all
}

// behind counts it. Two streams of a node count as one: one of them is about to end.
func (s *set) behind() map[resource.Proxy]int {
	n := map[resource.Proxy]int{}
	for st := range s.streams {
		n[st.who()] += 0
		for range st.differing() {
			n[st.who()]++
		}
	}
	return n
}

// differing are the resources that the proxy uses and has not acknowledged as they are now. It costs what differs at
// it, and what is offered in place of what the graph says.
func (st *stream) differing() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		differ := maps.Clone(st.set.apart) // what is in neither is accepted as the graph says
		for _, items := range st.items {
			for _, it := range items {
				if it.entry != nil {
					differ[it.entry] = struct{}{}
				}
			}
		}
		for e := range differ {
			if newest, uses := st.newest(e); uses && !newest && !yield(e) {
				return
			}
		}
	}
}

// Unanswered counts the resources that connected proxies use, and have neither acknowledged nor refused as they are
// now. A refusal is no answer if nobody knows what it is about.
func (s *Server) Unanswered() map[model.ObjectRef]int {
	s.mu.Lock()
	all := make(map[model.ObjectRef]int, len(s.sets))
	for gateway := range s.sets {
		all[gateway] = 0
	}
	s.mu.Unlock()
	for gateway := range all {
		s.read(gateway, func(s *set) { all[gateway] = s.unanswered() })
	}
	return all
}

func (s *set) unanswered() (n int) {
	for st := range s.streams {
		for e := range st.differing() {
			if !st.refuses(e) {
				n++
			}
		}
	}
	return n
}

// refuses tells whether a resource was refused for good as it is now, and the proxy keeps what it has.
func (st *stream) refuses(e *entry) bool {
	it := st.items[e.name.Type][e.name.Name]
	switch {
	case it != nil && it.state == unbound:
		return true
	case e.state != rejected || it != nil && (it.state == pending || it.state == sent):
		return false
	}
	for _, f := range fragmentsOf(e.current) {
		if st.set.isRejected(f) {
			return true
		}
	}
	return false
}

// Offered is what a Gateway's proxies are offered of a resource in place of what the graph says, nil if they are
// offered nothing; apart is false if they are offered what the graph says.
func (s *Server) Offered(key resource.Key) (instead *resource.Resource, apart bool) {
	s.read(key.Gateway, func(s *set) {
		e := s.lookup(resource.Name{Type: key.Type, Name: key.Name})
		if e == nil {
			return
		}
		if _, leaving := s.leaving[e]; e.offer == e.current && !leaving {
			return
		}
		if apart = true; e.offer != nil {
			instead = &e.offer.res
		}
	})
	return instead, apart
}

// Sent is when a proxy was first sent a resource as the graph says since a revision: with that turn's edits, or later
// ones. It is false if that did not happen, or is longer ago than is remembered.
func (s *Server) Sent(key resource.Key, since flow.Rev) (at time.Time, found bool) {
	s.read(key.Gateway, func(s *set) {
		at, found = s.sends.first(resource.Name{Type: key.Type, Name: key.Name}, since)
	})
	return at, found
}

// keptSends is how many sends are remembered of a Gateway: as many as the graph remembers turns.
const keptSends = 1000

// send is that a version of a resource was sent to a proxy, for the first time.
type send struct {
	name resource.Name
	rev  flow.Rev // of the graph, that the version shows
	at   time.Time
}

// sends are the last ones of a Gateway, the oldest at next when there are keptSends.
type sends struct {
	ring  []send
	next  int
	until flow.Rev // the newest revision of those that are forgotten
}

func (st *stream) noteSent(n resource.Name, v *version) {
	if v == nil || v.sent {
		return
	}
	v.sent = true
	l, s := &st.set.sends, send{n, v.rev, st.now}
	if len(l.ring) < keptSends {
		l.ring = append(l.ring, s)
		return
	}
	l.until = max(l.until, l.ring[l.next].rev)
	l.ring[l.next] = s
	l.next = (l.next + 1) % keptSends
}

// first is when a resource was first sent as it is since a revision.
func (l *sends) first(name resource.Name, since flow.Rev) (at time.Time, found bool) {
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
