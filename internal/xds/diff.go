package xds

import (
	"iter"
	"slices"

	"cardea.dev/cardea/internal/resource"
)

// change is a part that differs between two values of a resource. One side is nil if the part came or left.
type change struct{ old, new *resource.Part }

// diff walks two sorted lists of parts side by side. Unchanged parts are the same pointer, so that most steps compare
// two pointers. A part that was made again from nothing is another pointer; it is unchanged if all that it says is equal.
func diff(old, new []*resource.Part) iter.Seq[change] {
	return func(yield func(change) bool) {
		i, j := 0, 0
		for i < len(old) || j < len(new) {
			switch {
			case i < len(old) && j < len(new) && same(old[i], new[j]):
				i, j = i+1, j+1
				continue
			case j == len(new) || i < len(old) && old[i].ID < new[j].ID:
				if !yield(change{old: old[i]}) {
					return
				}
				i++
			case i == len(old) || new[j].ID < old[i].ID:
				if !yield(change{new: new[j]}) {
					return
				}
				j++
			default:
				if !yield(change{old: old[i], new: new[j]}) {
					return
				}
				i, j = i+1, j+1
			}
		}
	}
}

// same tells whether parts are equal. The hash is of their bytes: two routes may be rendered to the same bytes.
func same(a, b *resource.Part) bool {
	return a == b || a.ID == b.ID && a.Hash == b.Hash &&
		slices.Equal(a.Fragments, b.Fragments) && slices.Equal(a.Needs, b.Needs)
}
