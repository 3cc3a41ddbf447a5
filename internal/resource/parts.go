package resource

import (
	"slices"
	"strings"
)

// Find is the part of that ID among those of a resource, which are in the order of their IDs; nil if there is none.
func Find(parts []*Part, id string) *Part {
	i, found := slices.BinarySearchFunc(parts, id, func(p *Part, id string) int { return strings.Compare(p.ID, id) })
	if !found {
		return nil
	}
	return parts[i]
}

// Claimed tells whether one of the other parts claims what a part does: then it can't stand beside them.
func Claimed(part *Part, others []*Part) bool {
	return slices.ContainsFunc(others, func(p *Part) bool {
		return p.ID != part.ID && slices.ContainsFunc(p.Claims,
			func(c string) bool { return slices.Contains(part.Claims, c) })
	})
}
