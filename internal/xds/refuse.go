package xds

import (
	"cardea.dev/cardea/internal/resource"
)

// blame is what this Gateway's proxies refused.
type blame struct {
	refused map[resource.RefusalKey]*guilt
	proven  []resource.RefusalKey // whose content is in no part any more: looked at when the turn is complete
	walks   int                   // how often everything was looked through
}

type guilt struct {
	parts int // how many parts of current values have this content, or a substitute for it
	said  resource.Refusal
}

func newBlame() blame { return blame{refused: map[resource.RefusalKey]*guilt{}} }

func (s *set) refusalKey(f resource.Fragment) resource.RefusalKey {
	return resource.RefusalKey{Gateway: s.gateway, Origin: f.Origin, Variant: f.Variant, Hash: f.Hash}
}

func (b *blame) hold(k resource.RefusalKey) {
	if len(b.refused) == 0 {
		return
	}
	if g := b.refused[k]; g != nil {
		g.parts++
	}
}

func (b *blame) release(k resource.RefusalKey) {
	if len(b.refused) == 0 {
		return
	}
	if g := b.refused[k]; g != nil {
		if g.parts--; g.parts <= 0 {
			b.proven = append(b.proven, k)
		}
	}
}

// sweep ends refusals whose content is gone. A substitute carries the hash of what it stands for, so a refusal stays while
// its origin is unchanged.
func (s *set) sweep() {
	for _, k := range s.blame.proven {
		if g := s.blame.refused[k]; g != nil && g.parts <= 0 {
			s.pardon(k)
		}
	}
	s.blame.proven = nil
}

func (s *set) pardon(k resource.RefusalKey) {
	if s.blame.refused[k] == nil {
		return
	}
	delete(s.blame.refused, k)
	delete(s.news.refused, k)
	if s.news.pardon == nil {
		s.news.pardon = map[resource.RefusalKey]struct{}{}
	}
	s.news.pardon[k] = struct{}{}
}

// charge is a fragment that a proxy refused, and what it said.
type charge struct {
	fragment resource.Fragment
	said     resource.Refusal
}

// convict makes the rows of fragments that a proxy refused.
func (s *set) convict(charges []charge) {
	fresh := map[resource.RefusalKey]*guilt{}
	for _, c := range charges {
		k := s.refusalKey(c.fragment)
		g := s.blame.refused[k]
		if g == nil {
			g = &guilt{}
			s.blame.refused[k], fresh[k] = g, g
		}
		g.said = c.said
		if s.news.refused == nil {
			s.news.refused = map[resource.RefusalKey]resource.Refusal{}
		}
		s.news.refused[k] = c.said
		delete(s.news.pardon, k)
	}
	if len(fresh) > 0 {
		s.countParts(fresh)
	}
}

// countParts looks through everything, once for a whole verdict: refusals are rare, but may concern thousands.
func (s *set) countParts(fresh map[resource.RefusalKey]*guilt) {
	s.blame.walks++
	for _, byName := range s.entries {
		for _, e := range byName {
			for _, p := range e.current.parts() {
				for _, f := range p.Fragments {
					if g := fresh[s.refusalKey(f)]; g != nil {
						g.parts++
					}
				}
			}
		}
	}
}

// refuse takes a proxy's refusal of v; base is what it has instead. A route table goes on trial, part by part; of everything
// else the proxy keeps what it accepted last, and so do those that join.
func (s *set) refuse(st *stream, e *entry, v, base *version, message string) {
	if e.current == nil || e.offer != v {
		return // something else is on its way
	}
	said := resource.Refusal{Type: e.name.Type, Name: e.name.Name, Version: st.proxy, Message: message}
	if e.name.Type == resource.Routes {
		s.try(st, e, v, base, said)
		return
	}
	var charges []charge
	for _, f := range suspects(base, v) {
		charges = append(charges, charge{f, said})
	}
	s.convict(charges)
	e.refused = v
	s.offer(e, base)
}

// suspects are the fragments that a version has and the accepted one has not; all, if there is no such difference.
func suspects(base, v *version) []resource.Fragment {
	var list []resource.Fragment
	for c := range diff(base.parts(), v.parts()) {
		if c.new != nil {
			list = append(list, newFragments(c.old, c.new)...)
		}
	}
	if len(list) == 0 {
		for _, p := range v.parts() {
			list = append(list, newFragments(nil, p)...)
		}
	}
	return list
}

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

// retry forgets that a resource was refused, and offers it again: what refused it was the world, such as a port in use.
func (s *set) retry(n resource.Name) {
	e := s.lookup(n)
	if e == nil {
		return
	}
	for _, p := range e.current.parts() {
		for _, f := range p.Fragments {
			s.pardon(s.refusalKey(f))
		}
	}
	e.refused, e.trial, e.parole = nil, nil, parole{}
	for st := range s.streams {
		if it := st.items[n.Type][n.Name]; it != nil {
			it.no = nil
		}
	}
	s.offer(e, e.current)
}
