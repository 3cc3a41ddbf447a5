package xds

import (
	"maps"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/resource"
)

// composeOffer is what to offer of a resource that serves: what the graph says, with the parts that are kept of what
// was accepted.
func (s *gatewaySet) composeOffer(e *entry) *version {
	if len(e.kept) == 0 {
		return e.current
	}
	parts, keeps := slices.Clone(e.current.parts()), s.spec(e.name.Type).KeepsParts
	byID := func(p *resource.Part, id string) int { return strings.Compare(p.ID, id) }
	for _, id := range slices.Sorted(maps.Keys(e.kept)) {
		p := e.kept[id]
		i, found := slices.BinarySearchFunc(parts, id, byID)
		switch {
		case found && keeps && isSubstitute(parts[i]) &&
			!resource.ClaimsConflict(p, e.current.parts()) && !resource.ClaimsConflict(p, parts):
			parts[i] = p
		case !found && s.isStillNeeded(e, p):
			parts = slices.Insert(parts, i, p)
		default:
			delete(e.kept, id) // it is mended or deleted, or another one has its server names by now
		}
	}
	if head := s.spec(e.name.Type).Head; head != nil && len(e.kept) > 0 {
		parts[0] = head(e.name.Name, parts[1:])
	}
	switch {
	case len(e.kept) == 0:
		return e.current
	case slices.EqualFunc(parts, e.offer.parts(), resource.EqualParts):
		return e.offer
	}
	r := resource.JoinParts(parts...)
	r.Warms, r.Binds = e.current.res.Warms, e.current.res.Binds
	return &version{res: r, editedAt: e.current.editedAt, rev: e.current.rev}
}

func (e *entry) keepPart(p *resource.Part) {
	if e.kept == nil {
		e.kept = map[string]*resource.Part{}
	}
	e.kept[p.ID] = p
}

// keepFormerPart keeps a part that left the graph, as long as it may be needed.
func (s *gatewaySet) keepFormerPart(e *entry, p *resource.Part) {
	spec, offered := s.spec(e.name.Type), e.offer.part(p.ID)
	switch {
	case spec.Head != nil && offered != nil:
		e.keepPart(offered)
	case spec.Head == nil && spec.Divisible && e.confirmed.part(p.ID) != nil:
		e.keepPart(p)
	}
}

// isStillNeeded tells whether a part that left a resource may still be needed there: all that it was made of is still
// in the resource, in other parts, and proxies may still have a part of another resource that names this one with other
// claims than it has now. So the virtual hosts of a listener's former hostname are kept until the filter chain of the
// new one is accepted: if that is refused the former one serves on. A deleted part is not kept, unless it is an entry
// of an extension: the resources that name it are edited after it.
func (s *gatewaySet) isStillNeeded(e *entry, p *resource.Part) bool {
	if s.spec(e.name.Type).Head != nil {
		return s.isFormer(e.name)
	}
	for _, f := range p.Fragments {
		if s.fragments[keyOf(e, f.Origin, f.Variant)] == 0 || s.isRejected(f) {
			return false
		}
	}
	for _, t := range s.specs {
		for _, user := range s.entries[t.Type] {
			if t.KeepsParts && claimsChange(user, e.name) {
				return true
			}
		}
	}
	return false
}

// isFormer tells whether proxies have, or may get, a resource that awaits this one and needed it by a part that is
// another one now.
func (s *gatewaySet) isFormer(n resource.Name) bool {
	names := map[resource.Name]bool{}
	awaits := func(t resource.Type) bool { return slices.Contains(s.spec(t).Awaits, n.Type) }
	for _, differ := range []map[*entry]struct{}{s.divergent, s.unconfirmed} {
		for user := range differ {
			if awaits(user.name.Type) {
				addNeeds(names, user.current, user.offer)
				addNeeds(names, user.current, user.confirmed)
			}
		}
	}
	for st := range s.streams {
		for t, items := range st.items {
			if len(items) == 0 || !awaits(resource.Type(t)) {
				continue
			}
			for _, it := range items {
				if it.entry != nil {
					it.addNeeds(names)
				}
			}
		}
	}
	return names[n]
}

// dropFormer drops the parts that left resources, when they are not needed any more.
func (s *gatewaySet) dropFormer() {
	for e := range s.divergent {
		if e.state == serving && len(e.kept) > 0 && s.spec(e.name.Type).Head != nil && !s.isFormer(e.name) {
			s.serveEntry(e)
		}
	}
}

// claimsChange tells whether a part that was accepted names a resource, and has other claims by now, or left.
func claimsChange(user *entry, n resource.Name) bool {
	return slices.ContainsFunc(user.confirmed.parts(), func(p *resource.Part) bool {
		if len(p.Claims) == 0 || !slices.Contains(p.Needs, n) {
			return false
		}
		now := user.current.part(p.ID)
		return now == nil || !slices.Equal(now.Claims, p.Claims)
	})
}

// isSubstitute tells whether a part stands in place of what was refused.
func isSubstitute(p *resource.Part) bool {
	return slices.ContainsFunc(p.Fragments, func(f resource.Fragment) bool { return f.Refused })
}

// setConfirmed changes what all counting proxies acknowledged last. With that others may need less of what they keep.
func (s *gatewaySet) setConfirmed(e *entry, v *version) {
	e.confirmed = v
	if !s.spec(e.name.Type).KeepsParts {
		return
	}
	for other := range s.divergent {
		if !s.spec(other.name.Type).KeepsParts && other.state == serving && len(other.kept) > 0 {
			s.serveEntry(other)
		}
	}
}

// dropUnused drops what left the graph, unless proxies accepted or may accept something of others that names it, and
// the graph no longer does: until its newer version is accepted nobody knows that it will be, and a proxy that joins
// needs all of what is kept.
func (s *gatewaySet) dropUnused() {
	for again := len(s.deleting) > 0; again; {
		again = false
		kept := s.keptNames()
		for e := range s.deleting {
			if !kept[e.name] {
				s.dropEntry(e)
				again = true
			}
		}
	}
}

func (s *gatewaySet) keptNames() map[resource.Name]bool {
	names := map[resource.Name]bool{}
	for e := range s.deleting {
		addNeeds(names, nil, e.offer)
	}
	for _, differ := range []map[*entry]struct{}{s.divergent, s.unconfirmed} {
		for e := range differ {
			if _, leaving := s.deleting[e]; leaving {
				continue
			}
			addNeeds(names, e.current, e.offer)
			addNeeds(names, e.current, e.confirmed)
			for st := range s.streams {
				if it := st.items[e.name.Type][e.name.Name]; it != nil {
					it.addNeeds(names)
				}
			}
		}
	}
	return names
}

// addNeeds adds what a version names by parts that current does not have.
func addNeeds(names map[resource.Name]bool, current, v *version) {
	if v == nil || v == current {
		return
	}
	for c := range resource.DiffParts(current.parts(), v.parts()) {
		if c.New != nil {
			for _, n := range c.New.Needs {
				names[n] = true
			}
		}
	}
}

// addNeeds adds what the proxy may use though current does not name it.
func (it *item) addNeeds(names map[resource.Name]bool) {
	var current *version
	if it.entry != nil {
		current = it.entry.current
	}
	addNeeds(names, current, it.acknowledged)
	for _, v := range it.sent {
		addNeeds(names, current, v)
	}
}
