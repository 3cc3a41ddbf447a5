package xds

import (
	"slices"

	"cardea.dev/cardea/internal/resource"
)

// blame is what this Gateway's proxies refused.
type blame struct {
	refused map[resource.RefusalKey]*guilt
	proven  []resource.RefusalKey // whose content is in no part any more: looked at when the turn is complete
	walks   int                   // how often everything was looked through
	bare    int                   // how many parts have refused content for which a substitute will come, each counted
	turned  bool                  // something was refused, or is no more: what may be served of other resources may be something else
}

type guilt struct {
	parts int // how many parts of current values have this content, or a substitute for it
	bare  int // how many parts of tables and listeners have the content itself, for which a substitute will come
	kept  int // how many parts of what was accepted of tables and listeners have the content itself: it may be served on
	said  resource.Refusal
	by    resource.Proxy // that refused it last
	with  *company       // nil: it was refused alone
	whole bool           // its resource was refused as a whole: there is no substitute
}

// company is what was refused together, though nothing of it was refused alone.
type company struct{ keys []resource.RefusalKey }

func newBlame() blame { return blame{refused: map[resource.RefusalKey]*guilt{}} }

func (s *set) refusalKey(f resource.Fragment) resource.RefusalKey {
	return resource.RefusalKey{Gateway: s.gateway, Origin: f.Origin, Variant: f.Variant, Hash: f.Hash}
}

// add counts a fragment of a part in (1) or out (-1).
func (b *blame) add(n int, t resource.Type, k resource.RefusalKey, f resource.Fragment) {
	if len(b.refused) == 0 {
		return
	}
	g := b.refused[k]
	if g == nil {
		return
	}
	g.count(b, n, t, f)
	b.left(k, g)
}

// left has a refusal looked at whose content may be nowhere any more.
func (b *blame) left(k resource.RefusalKey, g *guilt) {
	if g.parts+g.kept <= 0 {
		b.proven = append(b.proven, k)
	}
}

// keep counts what is in a part of an accepted value in (1) or out (-1).
func (s *set) keep(n int, p *resource.Part) {
	for _, f := range p.Fragments {
		if k := s.refusalKey(f); !f.Refused && s.blame.refused[k] != nil {
			g := s.blame.refused[k]
			g.kept += n
			s.blame.left(k, g)
		}
	}
}

// accept changes what all counting proxies acknowledged last.
func (s *set) accept(e *entry, v *version) {
	if len(s.blame.refused) > 0 && warded(e.name.Type) {
		for c := range diff(e.confirmed.parts(), v.parts()) {
			if c.new != nil {
				s.keep(1, c.new)
			}
			if c.old != nil {
				s.keep(-1, c.old)
			}
		}
	}
	e.confirmed, s.stirred = v, true
}

func (g *guilt) count(b *blame, n int, t resource.Type, f resource.Fragment) {
	g.parts += n
	if warded(t) && !g.whole && !f.Refused {
		g.bare += n
		b.bare += n
	}
}

// sweep ends refusals whose content is gone, also from what proxies accepted last. A substitute carries the hash of what it stands for, so a
// refusal stays while its origin is unchanged. Then everything else is offered as far as it is not refused any more, or by now.
func (s *set) sweep() {
	for _, k := range s.blame.proven {
		if g := s.blame.refused[k]; g != nil && g.parts+g.kept <= 0 {
			s.pardon(k)
		}
	}
	s.blame.proven = nil
	if !s.blame.turned {
		return
	}
	s.blame.turned = false
	for t, byName := range s.entries {
		if !warded(resource.Type(t)) {
			continue
		}
		for _, e := range byName {
			s.settle(e)
			s.refresh(e)
		}
	}
}

// pardon forgets that a fragment was refused, and that others were together with it: it may have been the one.
func (s *set) pardon(k resource.RefusalKey) {
	g := s.blame.refused[k]
	if g == nil {
		return
	}
	s.blame.bare -= g.bare
	s.blame.turned = true
	delete(s.blame.refused, k)
	delete(s.news.refused, k)
	if s.news.pardon == nil {
		s.news.pardon = map[resource.RefusalKey]struct{}{}
	}
	s.news.pardon[k] = struct{}{}
	if g.with != nil {
		for _, other := range g.with.keys {
			s.pardon(other)
		}
	}
}

// charge is a fragment that a proxy refused, and what it said.
type charge struct {
	fragment resource.Fragment
	said     resource.Refusal
	with     *company
	whole    bool // there will be no substitute
}

// convict makes the rows of fragments that a proxy refused, and counts them. What has left meanwhile gets none. By is the zero Proxy if it is
// not what the refusal depends on.
func (s *set) convict(by resource.Proxy, charges []charge) (rows int) {
	fresh := map[resource.RefusalKey]*guilt{}
	for _, c := range charges {
		k := s.refusalKey(c.fragment)
		g := s.blame.refused[k]
		if g != nil && g.said.Message == c.said.Message && c.whole {
			continue // it was told
		}
		if g == nil || g.whole && !c.whole { // where there is a substitute it is needed
			g = &guilt{whole: c.whole}
			s.blame.refused[k], fresh[k] = g, g
		}
		if g.said, g.by, g.with = c.said, by, c.with; c.with != nil {
			c.with.keys = append(c.with.keys, k)
		}
		if s.news.refused == nil {
			s.news.refused = map[resource.RefusalKey]resource.Refusal{}
		}
		s.news.refused[k] = c.said
		delete(s.news.pardon, k)
	}
	if len(fresh) > 0 {
		s.blame.turned = true
		s.countParts(fresh)
	}
	for k, g := range fresh {
		if g.parts+g.kept > 0 {
			rows++
			continue
		}
		delete(s.blame.refused, k)
		delete(s.news.refused, k)
	}
	return rows
}

// countParts looks through everything, once for a whole verdict: refusals are rare, but may concern thousands.
func (s *set) countParts(fresh map[resource.RefusalKey]*guilt) {
	s.blame.walks++
	for _, byName := range s.entries {
		for _, e := range byName {
			for _, p := range e.current.parts() {
				for _, f := range p.Fragments {
					if g := fresh[s.refusalKey(f)]; g != nil {
						g.count(&s.blame, 1, e.name.Type, f)
					}
				}
			}
			if !warded(e.name.Type) {
				continue
			}
			for _, p := range e.confirmed.parts() {
				for _, f := range p.Fragments {
					if g := fresh[s.refusalKey(f)]; g != nil && !f.Refused {
						g.kept++
					}
				}
			}
		}
	}
}

// refuse takes a proxy's refusal of what it is offered. What it has instead, or else what others have accepted, is kept, also for those that
// join. In a route table or a listener the culprit is looked for.
func (s *set) refuse(st *stream, e *entry, has *version, message string) {
	v := e.offer
	base := has
	if base == nil {
		base = e.confirmed
	}
	said := resource.Refusal{Type: e.name.Type, Name: e.name.Name, Version: st.proxy, Message: message}
	if warded(e.name.Type) {
		s.inquire(refusal{st, e, v, e.current, base, said}, has)
		return
	}
	found := s.accused(e, has, v)
	if len(found) == 0 { // nothing differs from what was accepted
		found = s.accused(e, nil, v)
	}
	s.refuseWhole(refusal{st, e, v, e.current, base, said}, found)
}

// refuseWhole puts a resource aside: what was accepted of it stays until it changes.
func (s *set) refuseWhole(r refusal, culprits []*suspect) {
	var charges []charge
	for _, x := range culprits {
		charges = append(charges, charge{fragment: x.fragment, said: r.said, whole: true})
	}
	s.convict(r.stream.who(), charges)
	r.entry.held = false
	r.entry.putAside(r.stream)
	s.offer(r.entry, r.base)
	s.lookAgain(r.entry)
}

// putAside has what was accepted stand in for all of a resource.
func (e *entry) putAside(by *stream) { e.refused, e.refusedBy = e.current, by.who() }

// newFragments are those of a part that its old value does not have, without substitutes.
func newFragments(old, new *resource.Part) []resource.Fragment {
	had := map[resource.Fragment]bool{}
	if old != nil {
		for _, f := range old.Fragments {
			had[f] = true
		}
	}
	var list []resource.Fragment
	for _, f := range new.Fragments {
		if !had[f] && !f.Refused {
			list = append(list, f)
		}
	}
	return list
}

// reconsider gives another try to what was refused of clusters and listeners that name a secret which is another one now. Envoy looks at a
// certificate that it has when it makes a filter chain or a cluster, and refuses it for that.
func (s *set) reconsider(n resource.Name) {
	if len(s.blame.refused) == 0 {
		return
	}
	var again []*entry
	var pardoned []resource.RefusalKey
	for _, t := range []resource.Type{resource.Cluster, resource.Listener} {
		for _, e := range s.entries[t] {
			for _, p := range e.current.parts() {
				if !slices.Contains(p.Needs, n) {
					continue
				}
				for _, f := range p.Fragments {
					if k := s.refusalKey(f); s.blame.refused[k] != nil {
						again, pardoned = append(again, e), append(pardoned, k)
					}
				}
			}
		}
	}
	for _, k := range pardoned {
		s.pardon(k)
	}
	for _, e := range again { // now, since two addresses of a port have the same chains
		s.tryAgain(e)
	}
}

// tryAgain offers a resource that was refused again, as far as nothing in it is refused, to those that refused it, too.
func (s *set) tryAgain(e *entry) {
	e.refused = nil
	s.lookAgain(e)
	s.reoffer(e)
}
