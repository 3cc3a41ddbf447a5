package xds

import (
	"iter"

	"cardea.dev/cardea/internal/resource"
)

// change is a part that differs between two values of a resource. One side is nil if the part came or left.
type change struct{ old, new *resource.Part }

// diff walks two sorted lists of parts side by side. Unchanged parts are the same pointer, so that most steps compare
// two pointers; equal hashes also count as unchanged, since a value that was made again from nothing has new pointers.
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

func same(a, b *resource.Part) bool {
	return a == b || a.ID == b.ID && a.Hash == b.Hash
}
