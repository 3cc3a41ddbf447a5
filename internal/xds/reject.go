package xds

import (
	"iter"
	"slices"

	"cardea.dev/cardea/internal/resource"
)

// rejection is content that a proxy refused: a row of Feedback.Refused. It ends when no current value has that content
// any more, also not by a substitute; when its proxy is gone; or with another reason to try it again.
type rejection struct {
	said  resource.Refusal
	by    resource.Proxy
	group int  // of those that were refused together, none of them alone: they end together. 0: it was refused alone
	whole bool // its resource was refused as a whole: no substitute comes
}

// content is a fragment that is to be rejected.
type content struct {
	fragment resource.Fragment
	rejection
}

func (s *set) refusalKey(f resource.Fragment) resource.RefusalKey {
	return resource.RefusalKey{Gateway: s.gateway, Origin: f.Origin, Variant: f.Variant, Hash: f.Hash}
}

// isRejected tells whether a fragment is content that was refused, and not its substitute.
func (s *set) isRejected(f resource.Fragment) bool {
	return len(s.rejections) > 0 && !f.Refused && s.rejections[s.refusalKey(f)] != nil
}

// fragmentsOf are all of a version, by their parts.
func fragmentsOf(v *version) iter.Seq2[*resource.Part, resource.Fragment] {
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

// all are the resources of the set.
func (s *set) all() iter.Seq[*entry] {
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

// reject makes rows of content that is still current, and tells how many. It looks through everything, once for all
// that was found: refusals are rare, but may concern thousands.
func (s *set) reject(list []content) (told int) {
	fresh := map[resource.RefusalKey]*content{}
	for i := range list {
		fresh[s.refusalKey(list[i].fragment)] = &list[i]
	}
	for e := range s.all() {
		for p, f := range fragmentsOf(e.current) {
			k := s.refusalKey(f)
			c := fresh[k]
			if c == nil {
				continue
			}
			old := s.rejections[k]
			if old == nil || old.said != c.said {
				s.news.refuse(k, c.said)
			}
			c.whole = c.whole && (old == nil || old.whole) // where there is a substitute it stays
			s.rejections[k] = &c.rejection
			if !f.Refused {
				e.unreplaced = true
				s.keepAccepted(e, p.ID)
			}
		}
	}
	for k := range fresh {
		if s.rejections[k] != nil {
			told++
		}
	}
	s.dropKept(fresh)
	return told
}

// keepAccepted keeps the part that was accepted in the place of one that is refused.
func (s *set) keepAccepted(e *entry, id string) {
	if !s.spec(e.name.Type).KeepsParts {
		return
	}
	from := e.confirmed
	if e.refusal != nil && e.refusal.accepted != nil {
		from = e.refusal.accepted
	}
	if p := from.part(id); p != nil && !isSubstitute(p) {
		e.keep(p)
	}
}

// dropKept drops what is kept and was refused, by another proxy than took it. Proxies get what the graph says.
func (s *set) dropKept(fresh map[resource.RefusalKey]*content) {
	for e := range s.all() {
		dropped := false
		for id, p := range e.kept {
			for _, f := range p.Fragments {
				if !f.Refused && fresh[s.refusalKey(f)] != nil {
					delete(e.kept, id)
					dropped = true
				}
			}
		}
		if dropped && e.state == serving {
			s.serve(e)
		}
	}
}

// isUnreplaced tells whether current has content that was refused and for which a substitute will come.
func (s *set) isUnreplaced(e *entry) bool {
	if !e.unreplaced {
		return false
	}
	for _, f := range fragmentsOf(e.current) {
		if s.isRejected(f) && !s.rejections[s.refusalKey(f)].whole {
			return true
		}
	}
	e.unreplaced = false
	return false
}

// compareRejected looks for refused content in a part that changes.
func (s *set) compareRejected(e *entry, c resource.Change) {
	if len(s.rejections) == 0 {
		return
	}
	still := map[resource.RefusalKey]bool{}
	if c.New != nil {
		for _, f := range c.New.Fragments {
			still[s.refusalKey(f)] = true
			e.unreplaced = e.unreplaced || s.isRejected(f)
		}
	}
	if c.Old != nil {
		for _, f := range c.Old.Fragments {
			if k := s.refusalKey(f); s.rejections[k] != nil && !still[k] {
				s.stale[k] = struct{}{}
			}
		}
	}
}

// endStale ends the rejections of content that is nowhere any more.
func (s *set) endStale() {
	if len(s.stale) == 0 {
		return
	}
	for e := range s.all() {
		for _, f := range fragmentsOf(e.current) {
			delete(s.stale, s.refusalKey(f))
		}
	}
	gone := s.stale
	s.stale = map[resource.RefusalKey]struct{}{}
	s.end(func(k resource.RefusalKey, _ *rejection) bool { _, is := gone[k]; return is })
}

// end ends rejections, and those that are in one group with them: any of these may have been the bad one. What waited
// for their substitutes is served.
func (s *set) end(is func(resource.RefusalKey, *rejection) bool) {
	groups := map[int]bool{}
	for k, r := range s.rejections {
		if is(k, r) {
			groups[r.group] = r.group > 0
			s.forget(k)
		}
	}
	if len(groups) == 0 {
		return
	}
	for k, r := range s.rejections {
		if groups[r.group] {
			s.forget(k)
		}
	}
	for e := range s.suspended {
		if e.state == replacing {
			s.serve(e)
		}
	}
}

func (s *set) forget(k resource.RefusalKey) {
	delete(s.rejections, k)
	s.news.end(k)
}

// retryUsers tries again what was refused of resources that need an embedded one, which is another one now.
func (s *set) retryUsers(n resource.Name) {
	if len(s.rejections) == 0 {
		return
	}
	again := map[resource.RefusalKey]bool{}
	var users []*entry
	for _, t := range s.spec(n.Type).UsedBy {
		for _, e := range s.entries[t] {
			if s.addRejected(again, e, n) {
				users = append(users, e)
			}
		}
	}
	if len(users) == 0 {
		return
	}
	s.end(func(k resource.RefusalKey, _ *rejection) bool { return again[k] })
	for _, e := range users {
		if e.state == rejected {
			s.serve(e)
		}
	}
}

// addRejected adds what was refused in parts that need a resource.
func (s *set) addRejected(keys map[resource.RefusalKey]bool, e *entry, n resource.Name) (found bool) {
	for p, f := range fragmentsOf(e.current) {
		if k := s.refusalKey(f); s.rejections[k] != nil && slices.Contains(p.Needs, n) {
			keys[k], found = true, true
		}
	}
	return found
}
