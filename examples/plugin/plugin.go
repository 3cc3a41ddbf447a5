// Package plugin is an example of what others can add to Cardea: a feature of Cardea's own policies, and a kind of
// policy. `cardea build --with example.com/plugin@VERSION` builds a program that has both.
package plugin

import (
	"cardea.dev/cardea/extend"

	"example.com/plugin/maintenance"
	"example.com/plugin/signing"
)

// Plugins are the feature and the kind. `cardea build` calls it.
func Plugins() []extend.Plugin {
	return []extend.Plugin{signing.Feature.Plug(), maintenance.Kind.Plug(), maintenance.Feature.Plug()}
}
