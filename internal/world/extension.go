package world

import (
	"cardea.dev/cardea/internal/kind"
	"cardea.dev/cardea/internal/kinds"
	"cardea.dev/cardea/internal/plan"
)

// Extension is a kind of object that a program reads besides those of package kinds, and what its objects mean.
type Extension struct {
	Kind *kind.Kind
	// Meaning makes the reports on the objects of the kind; nil: nothing is told of them. It is called once, by New.
	Meaning func(in *kinds.Sources) plan.Reporter
}

// Catalog is all kinds that a program with these extensions reads.
func Catalog(extensions ...Extension) *kind.Catalog {
	var more []*kind.Kind
	for _, e := range extensions {
		more = append(more, e.Kind)
	}
	return kinds.Catalog(more...)
}
