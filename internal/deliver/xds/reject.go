package xds

import (
	"iter"
	"maps"
	"slices"
	"time"

	"cardea.dev/cardea/internal/core/resource"
)

// rejection is content that a proxy refused: a row of Feedback.Refused. It ends when no current value has that content
// any more, also not by a substitute; when its proxy is gone; or with another reason to try it again.
type rejection struct {
	details resource.Refusal
	proxy   resource.ConnectedProxy
	// of those that were refused together, none of them alone: they end together. 0: it was refused alone
	group        int
	noSubstitute bool // its resource was refused as a whole: no substitute comes
}

type rejectedContent struct {
	fragment resource.Fragment
	rejection
}

func (s *gatewaySet) refusalKey(f resource.Fragment) resource.RefusalKey {
	return resource.RefusalKey{Gateway: s.gateway, Origin: f.Origin, Variant: f.Variant, Hash: f.Hash}
}

// isRejected tells whether a fragment is content that was refused, and not its substitute.
func (s *gatewaySet) isRejected(f resource.Fragment) bool {
	return len(s.rejections) > 0 && !f.Refused && s.rejections[s.refusalKey(f)] != nil
}

func eachFragment(v *version) iter.Seq2[*resource.Part, resource.Fragment] {
	return func(yield func(*resource.Part, resource.Fragment) bool) {
		for _, p := range v.parts() {
			for _, f := range p.Fragments {
				if !yield(p, f) {
					return
				}
			}
		}
	}
}

func (s *gatewaySet) allEntries() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for _, byName := range s.entries {
			for _, e := range byName {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// addRejections makes rows of content that is still current, and tells how many. It looks through everything, once for
// all that was found: refusals are rare, but may concern thousands.
func (s *gatewaySet) addRejections(list []rejectedContent) (told int) {
	fresh := map[resource.RefusalKey]*rejectedContent{}
	for i := range list {
		fresh[s.refusalKey(list[i].fragment)] = &list[i]
	}
	for e := range s.allEntries() {
		for p, f := range eachFragment(e.current) {
			k := s.refusalKey(f)
			c := fresh[k]
			if c == nil {
				continue
			}
			if old := s.rejections[k]; old != &c.rejection {
				told++
				if old == nil || old.details != c.details {
					s.feedback.addRefusal(k, c.details)
				}
				c.noSubstitute = c.noSubstitute && (old == nil || old.noSubstitute) // where there is a substitute it stays
				s.rejections[k] = &c.rejection
			}
			if !f.Refused {
				e.unreplaced = true
				s.keepAccepted(e, p.ID)
			}
		}
		s.dropKept(e, fresh)
	}
	return told
}

// keepAccepted keeps the part that was accepted in the place of one that is refused.
func (s *gatewaySet) keepAccepted(e *entry, id string) {
	if !s.spec(e.name.Type).KeepsParts {
		return
	}
	from := e.confirmed
	if e.refusal != nil && e.refusal.accepted != nil {
		from = e.refusal.accepted
	}
	if p := from.part(id); p != nil && !isSubstitute(p) {
		e.keepPart(p)
	}
}

// dropKept drops what is kept and was refused, by another proxy than took it. Proxies get what the graph says.
func (s *gatewaySet) dropKept(e *entry, fresh map[resource.RefusalKey]*rejectedContent) {
	before := len(e.kept)
	maps.DeleteFunc(e.kept, func(_ string, p *resource.Part) bool {
		return slices.ContainsFunc(p.Fragments, func(f resource.Fragment) bool {
			return !f.Refused && fresh[s.refusalKey(f)] != nil
		})
	})
	if len(e.kept) < before && e.state == serving {
		s.serveEntry(e)
	}
}

// isUnreplaced tells whether current has content that was refused and for which a substitute will come.
func (s *gatewaySet) isUnreplaced(e *entry) bool {
	if !e.unreplaced {
		return false
	}
	for _, f := range eachFragment(e.current) {
		if s.isRejected(f) && !s.rejections[s.refusalKey(f)].noSubstitute {
			return true
		}
	}
	e.unreplaced = false
	return false
}

// compareRejected looks for refused content in a part that changes.
func (s *gatewaySet) compareRejected(e *entry, c resource.PartChange) {
	if len(s.rejections) == 0 {
		return
	}
	if c.New != nil {
		for _, f := range c.New.Fragments {
			e.unreplaced = e.unreplaced || s.isRejected(f)
		}
	}
	if c.Old != nil {
		for _, f := range c.Old.Fragments {
			s.hasStale = s.hasStale || s.rejections[s.refusalKey(f)] != nil
		}
	}
}

// endStale ends the rejections of content that is nowhere any more.
func (s *gatewaySet) endStale() {
	if !s.hasStale {
		return
	}
	s.hasStale = false
	gone := maps.Clone(s.rejections)
	for e := range s.allEntries() {
		for _, f := range eachFragment(e.current) {
			delete(gone, s.refusalKey(f))
		}
	}
	s.endRejections(func(k resource.RefusalKey, _ *rejection) bool { return gone[k] != nil })
}

// endRejections ends rejections, and those that are in one group with them: any of these may have been the bad one.
// Resources that waited for their substitutes are served.
func (s *gatewaySet) endRejections(is func(resource.RefusalKey, *rejection) bool) {
	groups := map[int]bool{}
	for k, r := range s.rejections {
		if is(k, r) {
			groups[r.group] = r.group > 0
		}
	}
	whole := map[resource.RefusalKey]bool{} // of those that ended
	for k, r := range s.rejections {
		if groups[r.group] || is(k, r) {
			whole[k] = r.noSubstitute
			delete(s.rejections, k)
			s.feedback.endRefusal(k)
		}
	}
	if len(whole) == 0 {
		return
	}
	for e := range s.suspended {
		if e.state == replacing || e.state == rejected && s.holdsContent(e.current, whole) {
			s.serveEntry(e)
		}
	}
}

func (s *gatewaySet) holdsContent(v *version, content map[resource.RefusalKey]bool) bool {
	for _, f := range eachFragment(v) {
		if content[s.refusalKey(f)] {
			return true
		}
	}
	return false
}

// retryUsers tries again what was refused of parts that need an embedded resource, which is another one now.
func (s *gatewaySet) retryUsers(n resource.Name) {
	if len(s.rejections) == 0 {
		return
	}
	again := map[resource.RefusalKey]bool{}
	for _, t := range s.spec(n.Type).Embedded {
		for _, e := range s.entries[t] {
			for p, f := range eachFragment(e.current) {
				if slices.Contains(p.Needs, n) {
					again[s.refusalKey(f)] = true
				}
			}
		}
	}
	s.endRejections(func(k resource.RefusalKey, _ *rejection) bool { return again[k] })
}

// absenceTimeout is how long a proxy is away before it is gone. Content that it refused is then offered again, and
// rejected again if another proxy refuses it. A proxy that comes back is the same by its node's id and its version, and
// nothing is tried again for it.
const absenceTimeout = time.Minute

// onDisconnect ends the trial of a proxy when its stream ended. Its final refusals stay for a while: the proxy may come
// back.
func (s *gatewaySet) onDisconnect(st *stream) {
	for e := range s.suspended {
		if e.state == onTrial && e.refusal.stream == st {
			s.withdrawFromTrial(e)
			s.serveEntry(e)
		}
	}
	if s.trial != nil && s.trial.proxy == st {
		s.trial = nil
	}
	s.openTrial(st.now)
	for other := range s.streams {
		if other.proxyID() == st.proxyID() {
			return
		}
	}
	if len(s.rejections)+len(s.suspended) > 0 {
		s.absentSince[st.proxyID()] = st.now
		for other := range s.streams {
			other.wake() // to look again when it is gone
		}
	}
}

// endAbsences offers again what was refused by proxies that are gone.
func (st *stream) endAbsences() {
	s := st.set
	for proxy, since := range s.absentSince {
		if until := since.Add(absenceTimeout); st.now.Before(until) {
			st.wakeAt(until)
			continue
		}
		delete(s.absentSince, proxy)
		s.endRejections(func(_ resource.RefusalKey, r *rejection) bool { return r.proxy == proxy })
		for e := range s.suspended {
			if e.state == rejected && e.refusal.stream.proxyID() == proxy {
				s.serveEntry(e)
			}
		}
	}
}
