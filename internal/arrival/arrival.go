package arrival

import (
	"slices"
	"time"

	"cardea.dev/cardea/internal/kind"
)

// Hold is how long a version waits at most for what it begins to name, and how long an object that is gone goes on
// being there, since most likely what names it is about to change, or the object is about to come back.
const Hold = 100 * time.Millisecond

// Present tells what has arrived.
type Present interface {
	// Has says whether a reference finds something: an object that is there, with the part that is named. Whether it may
	// be named is not asked.
	Has(kind.Reference) bool
}

// Loses says whether an object that named one list of references and now names another begins to name something that is
// not there.
func Loses(p Present, before, now []kind.Reference) bool {
	return slices.ContainsFunc(now, func(r kind.Reference) bool { return !slices.Contains(before, r) && !p.Has(r) })
}
