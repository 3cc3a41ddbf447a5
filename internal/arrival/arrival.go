package arrival

import (
	"cmp"
	"slices"
	"time"

	"cardea.dev/cardea/internal/model"
)

// Hold is how long a version waits at most for what it begins to name, and how long an object that is gone goes on
// being there, since most likely what names it is about to change, or the object is about to come back.
const Hold = 100 * time.Millisecond

// Present tells what has arrived.
type Present interface {
	// Has says whether a reference finds something: an object that is there, with the part that is named. Whether it may
	// be named is not asked.
	Has(Reference) bool
}

// Loses says whether an object that named one list of references and now names another begins to name something that is
// not there.
func Loses(p Present, before, now []Reference) bool {
	return slices.ContainsFunc(now, func(r Reference) bool { return !slices.Contains(before, r) && !p.Has(r) })
}

// ByNaming orders what names others after what is named, so that what arrives together can go in at once.
func ByNaming(a, b model.ObjectRef) int {
	rank := func(k model.Kind) int {
		switch k {
		case model.KindHTTPRoute, model.KindGRPCRoute:
			return 2
		case model.KindGateway:
			return 1
		}
		return 0
	}
	return cmp.Or(rank(a.Kind())-rank(b.Kind()), a.Compare(b))
}
