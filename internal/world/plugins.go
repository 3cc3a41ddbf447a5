package world

import (
	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/policykind"
)

// Plugged makes extensions of plugins: the kinds of policies that have features. An error names every mistake of who
// wrote one.
func Plugged(plugins []extend.Plugin) ([]Extension, error) {
	var kinds []extend.Kind
	var features []*extend.Declared
	for _, p := range plugins {
		if p.Kind != nil {
			kinds = append(kinds, *p.Kind)
		}
		if p.Feature != nil {
			features = append(features, p.Feature)
		}
	}
	declared, err := policykind.New(kinds, features)
	if err != nil {
		return nil, err
	}
	var list []Extension
	for _, d := range declared {
		list = append(list, Extension{Kind: d.Declaration, Features: d.Features, Definition: d.CRD})
	}
	return list, nil
}
