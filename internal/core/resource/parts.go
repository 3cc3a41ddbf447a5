package resource

import (
	"iter"
	"slices"
	"strings"
)

// FindPart returns the part of that ID among those of a resource, which are in the order of their IDs; nil if there is
// none.
func FindPart(parts []*Part, id string) *Part {
	i, found := slices.BinarySearchFunc(parts, id, func(p *Part, id string) int { return strings.Compare(p.ID, id) })
	if !found {
		return nil
	}
	return parts[i]
}

// ClaimsConflict tells whether one of the other parts claims what a part does: then it can't stand beside them.
func ClaimsConflict(part *Part, others []*Part) bool {
	return slices.ContainsFunc(others, func(p *Part) bool {
		return p.ID != part.ID && slices.ContainsFunc(p.Claims,
			func(c string) bool { return slices.Contains(part.Claims, c) })
	})
}

// PartChange is a part that differs between two values of a resource. One side is nil if the part came or left.
type PartChange struct{ Old, New *Part }

// DiffParts walks the parts of two values side by side. Unchanged parts are the same pointer most of the time, so that
// most steps compare two pointers.
func DiffParts(before, after []*Part) iter.Seq[PartChange] {
	return func(yield func(PartChange) bool) {
		i, j := 0, 0
		for i < len(before) || j < len(after) {
			if i < len(before) && j < len(after) && before[i] == after[j] {
				i, j = i+1, j+1
				continue
			}
			var c PartChange
			if j == len(after) || i < len(before) && before[i].ID <= after[j].ID {
				c.Old = before[i]
			}
			if i == len(before) || j < len(after) && after[j].ID <= before[i].ID {
				c.New = after[j]
			}
			if c.Old != nil {
				i++
			}
			if c.New != nil {
				j++
			}
			if (c.Old == nil || c.New == nil || !EqualParts(c.Old, c.New)) && !yield(c) {
				return
			}
		}
	}
}

// EqualParts tells whether parts are equal. The hash is of their bytes: two routes may be rendered to the same bytes.
func EqualParts(a, b *Part) bool {
	return a == b || a.ID == b.ID && a.Hash == b.Hash &&
		slices.Equal(a.Fragments, b.Fragments) && slices.Equal(a.Needs, b.Needs)
}
