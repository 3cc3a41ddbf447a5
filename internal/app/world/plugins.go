package world

import (
	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/policycrd"
)

// ExtensionsOf makes extensions of plugins: the kinds of policies that have features. An error names every mistake of
// who wrote one. more are kinds of backends that are not Cardea's own.
func ExtensionsOf(plugins []extend.Plugin, more ...*kind.Kind) ([]Extension, error) {
	declared, err := policycrd.FromPlugins(plugins, more...)
	if err != nil {
		return nil, err
	}
	var list []Extension
	for _, d := range declared {
		e := Extension{Kind: d.Declaration, Features: d.Features, Definition: d.CRD}
		if d.CountsAs != nil {
			e.Features = nil // which are the other kind's
		}
		list = append(list, e)
	}
	return list, nil
}
