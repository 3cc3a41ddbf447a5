package world

import (
	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/plan"
)

// Extension is a kind of object that a program reads besides those of package kinds, and what its objects mean.
type Extension struct {
	Kind *kind.Kind
	// Meaning makes the reports on the objects of the kind; nil: there are none. It is called once, by New.
	Meaning func(in *kinds.Sources) plan.Reporter
	// Features are the features of a kind of policies.
	Features []*extend.Declared
	// Definition is the CustomResourceDefinition that Cardea brings for the kind, in YAML; nil: others do.
	Definition []byte
}

// Catalog is all kinds that a program with these extensions reads.
func Catalog(extensions ...Extension) *kind.Catalog {
	var more []*kind.Kind
	for _, e := range extensions {
		more = append(more, e.Kind)
	}
	return kinds.Catalog(more...)
}

// features are the features of all kinds of policies.
func features(extensions []Extension) (list []*extend.Declared) {
	for _, e := range extensions {
		list = append(list, e.Features...)
	}
	return list
}
