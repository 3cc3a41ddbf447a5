package diff

import (
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/resource"
)

// offeredBefore finds a resource as proxies are offered it: what was rendered, or what they accepted before something
// of that was refused.
func (d *Differ) offeredBefore(v flow.View, key resource.Key) (resource.Resource, bool) {
	if instead, apart := d.offeredInstead(key); instead != nil {
		return *instead, true
	} else if apart {
		return resource.Resource{}, false
	}
	return d.world.Outputs.FindBefore(v, key)
}

// offeredAfter finds a resource as proxies would be offered it. A resource that was refused, and that the edits do not
// change, stays refused, and so does the one that is offered in its place. A resource that the edits change is taken to
// be accepted.
func (d *Differ) offeredAfter(v flow.View, key resource.Key) (resource.Resource, bool) {
	is, exists := d.world.Outputs.Find(v, key)
	instead, apart := d.offeredInstead(key)
	if !apart {
		return is, exists
	}
	was, existed := d.world.Outputs.FindBefore(v, key)
	switch {
	case existed != exists:
		return is, exists
	case was.Version == is.Version:
		return d.offeredBefore(v, key)
	}
	var offered []*resource.Part
	if instead != nil {
		offered = instead.Parts
	}
	var parts []*resource.Part
	for _, p := range is.Parts {
		if old := resource.FindPart(was.Parts, p.ID); old == nil || old.Hash != p.Hash {
			parts = append(parts, p)
		} else if kept := resource.FindPart(offered, p.ID); kept != nil {
			if kept.Hash != p.Hash && resource.ClaimsConflict(kept, is.Parts) {
				kept = p
			}
			parts = append(parts, kept)
		}
	}
	for _, p := range offered { // virtual hosts that are kept for a filter chain
		if resource.FindPart(was.Parts, p.ID) == nil && resource.FindPart(is.Parts, p.ID) == nil && hasAllFragments(p,
			is.Parts) {
			parts = append(parts, p)
		}
	}
	slices.SortFunc(parts, func(a, b *resource.Part) int { return strings.Compare(a.ID, b.ID) })
	if len(parts) == 0 {
		return resource.Resource{}, false
	}
	r := resource.JoinParts(parts...)
	r.Warms, r.Binds = is.Warms, is.Binds
	return r, true
}

// offeredInstead is what proxies are offered in place of what was rendered, nil if nothing; apart is false if they are
// offered that.
func (d *Differ) offeredInstead(key resource.Key) (instead *resource.Resource, apart bool) {
	if d.offered == nil {
		return nil, false
	}
	return d.offered(key)
}

// hasAllFragments tells whether all that a part was made of is in some part.
func hasAllFragments(p *resource.Part, in []*resource.Part) bool {
	return !slices.ContainsFunc(p.Fragments, func(f resource.Fragment) bool {
		return !slices.ContainsFunc(in, func(p *resource.Part) bool {
			return slices.ContainsFunc(p.Fragments,
				func(o resource.Fragment) bool { return o.Origin == f.Origin && o.Variant == f.Variant })
		})
	})
}
