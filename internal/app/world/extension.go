package world

import (
	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/backend"
)

// Extension is a kind of object that a program reads besides those of package kinds, and what its objects mean.
type Extension struct {
	Kind *kind.Kind
	// NewReporter makes the reports on the objects of the kind; nil: there are none. It is called once, by New.
	NewReporter func(in *kinds.Sources) plan.Reporter
	// Backend makes what the objects mean as backends, if the kind is declared as one.
	Backend func(backend.Inputs) backend.Kind
	// Features are the features of a kind of policies.
	Features []*extend.UntypedFeature
	// Definition is the CustomResourceDefinition that Cardea brings for the kind, in YAML; nil: others do.
	Definition []byte
}

// NewCatalog is all kinds that a program with these extensions reads.
func NewCatalog(extensions ...Extension) *kind.Catalog {
	var more []*kind.Kind
	for _, e := range extensions {
		more = append(more, e.Kind)
	}
	return kinds.NewCatalog(more...)
}

// backends are what the kinds mean that are backends.
func backends(extensions []Extension) map[model.Kind]func(backend.Inputs) backend.Kind {
	all := map[model.Kind]func(backend.Inputs) backend.Kind{}
	for _, e := range extensions {
		if e.Backend != nil {
			all[e.Kind.Kind] = e.Backend
		}
	}
	return all
}

// listFeatures are the features of all kinds of policies.
func listFeatures(extensions []Extension) (list []*extend.UntypedFeature) {
	for _, e := range extensions {
		list = append(list, e.Features...)
	}
	return list
}
