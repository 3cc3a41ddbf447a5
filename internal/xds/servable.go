package xds

import (
	"slices"
	"strings"

	"cardea.dev/cardea/internal/resource"
)

// servable is what may be sent of a resource that is not held: what the graph says, and what is kept of what was accepted.
func (s *set) servable(e *entry) *version {
	parts := e.current.parts()
	if e.confirmed != nil {
		switch e.name.Type {
		case resource.Listener:
			parts = s.keptChains(e)
		case resource.Routes:
			parts = s.keptHosts(e)
		}
	}
	switch {
	case slices.Equal(parts, e.current.parts()):
		return e.current
	case slices.EqualFunc(parts, e.offer.parts(), same):
		return e.offer
	}
	r := resource.Join(parts...)
	r.Warms, r.Binds = e.current.res.Warms, e.current.res.Binds
	return &version{res: r, at: e.current.at}
}

// keptChains are a listener's parts. Where a filter chain was refused, the one that was accepted last serves on, not its substitute. It does not
// if another chain has its server names by now (Envoy wants each once), nor if that was what was refused, by another proxy than took it. What is
// offered already stays: proxies that had accepted different ones would else be sent the one and the other in turn.
func (s *set) keptChains(e *entry) []*resource.Part {
	parts := slices.Clone(e.current.parts())
	for i, p := range parts {
		if !substitutes(p) {
			continue
		}
		for _, from := range []*version{e.offer, e.confirmed} {
			old := from.part(p.ID)
			if old == nil || substitutes(old) || s.convicted(old) || resource.Claimed(old, e.current.parts()) || resource.Claimed(old, parts) {
				continue
			}
			parts[i] = old
			break
		}
	}
	return parts
}

// convicted tells whether a part has something that was refused.
func (s *set) convicted(p *resource.Part) bool {
	return slices.ContainsFunc(p.Fragments, func(f resource.Fragment) bool { return !f.Refused && s.blame.refused[s.refusalKey(f)] != nil })
}

// keptHosts are a table's parts, and those that left it with a listener's former hostname, as long as proxies may have its filter chain: the hostname
// decides about both, and a chain that is refused serves as it was. What left for another reason, such as a deleted route, is not kept.
func (s *set) keptHosts(e *entry) []*resource.Part {
	var left []*resource.Part
	for c := range diff(e.current.parts(), e.confirmed.parts()) {
		if c.old == nil && s.holdsAll(e, c.new) && !s.convicted(c.new) {
			left = append(left, c.new)
		}
	}
	if len(left) == 0 || !s.outdated(e.name) {
		return e.current.parts()
	}
	parts := append(left, e.current.parts()...)
	slices.SortFunc(parts, func(a, b *resource.Part) int { return strings.Compare(a.ID, b.ID) })
	return parts
}

// holdsAll tells whether all that a part was made of is still in its resource, be it in other parts.
func (s *set) holdsAll(e *entry, p *resource.Part) bool {
	return !slices.ContainsFunc(p.Fragments, func(f resource.Fragment) bool { return s.held[heldAs(e, f.Origin, f.Variant)] == 0 })
}

// outdated tells whether a filter chain that was accepted names a table, and the graph gives it other server names, or none.
func (s *set) outdated(table resource.Name) bool {
	for _, l := range s.entries[resource.Listener] {
		for _, p := range l.confirmed.parts() {
			if len(p.Claims) > 0 && slices.Contains(p.Needs, table) {
				if now := l.current.part(p.ID); now == nil || !slices.Equal(now.Claims, p.Claims) {
					return true
				}
			}
		}
	}
	return false
}

// trim takes from tables what was kept for filter chains that are no more, after a listener was acknowledged or left.
func (s *set) trim() {
	for e := range s.apart {
		if e.name.Type == resource.Routes {
			s.refresh(e)
		}
	}
}

// refresh offers what is servable, after what was accepted changed.
func (s *set) refresh(e *entry) {
	if warded(e.name.Type) && e.current != nil && !e.held && e.refused == nil {
		s.offer(e, s.servable(e))
	}
}

// substitutes tells whether a part stands in place of what was refused.
func substitutes(p *resource.Part) bool {
	return slices.ContainsFunc(p.Fragments, func(f resource.Fragment) bool { return f.Refused })
}
