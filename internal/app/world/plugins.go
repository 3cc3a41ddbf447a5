package world

import (
	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/policycrd"
)

// Plugged makes extensions of plugins: the kinds of policies that have features. An error names every mistake of who
// wrote one.
func Plugged(plugins []extend.Plugin) ([]Extension, error) {
	declared, err := policycrd.Of(plugins)
	if err != nil {
		return nil, err
	}
	var list []Extension
	for _, d := range declared {
		e := Extension{Kind: d.Declaration, Features: d.Features, Definition: d.CRD}
		if d.As != nil {
			e.Features = nil // which are the other kind's
		}
		list = append(list, e)
	}
	return list, nil
}
