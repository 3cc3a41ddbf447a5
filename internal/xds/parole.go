package xds

import (
	"cardea.dev/cardea/internal/resource"
)

// parole gives back fragments that were refused because they stood in a bad part with others. All of them are refused at
// first, so that the rest of the table serves; then one half at a time is released. A half that is acknowledged was
// innocent; one that is refused again is cut, until a single fragment is refused alone. It ends: a released group never
// comes back larger than half of the one that it was cut from.
type parole struct {
	groups [][]resource.RefusalKey // to be released, in this order
	out    []resource.RefusalKey   // released, and not yet seen in the table
}

func (p *parole) add(group []resource.RefusalKey) {
	if n := len(group); n > 1 {
		p.groups = append(p.groups, group[:n/2], group[n/2:])
	}
}

// paroleNext releases the next group when the table with the last one was acknowledged.
func (s *set) paroleNext(e *entry) {
	p := &e.parole
	if len(p.out) > 0 {
		if s.substituted(e, p.out) {
			return // the graph has not heard yet
		}
		p.out = nil
	}
	for len(p.groups) > 0 && len(p.out) == 0 {
		for _, k := range p.groups[0] {
			if s.blame.refused[k] != nil {
				s.pardon(k)
				p.out = append(p.out, k)
			}
		}
		p.groups = p.groups[1:]
	}
}

// substituted tells whether the table still has a substitute for one of these.
func (s *set) substituted(e *entry, keys []resource.RefusalKey) bool {
	released := map[resource.RefusalKey]bool{}
	for _, k := range keys {
		released[k] = s.blame.refused[k] == nil
	}
	for _, p := range e.current.parts() {
		for _, f := range p.Fragments {
			if f.Refused && released[s.refusalKey(f)] {
				return true
			}
		}
	}
	return false
}
