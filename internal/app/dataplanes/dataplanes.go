// Package dataplanes is the list of the data planes that the program has.
//
// It owns the list and nothing else: the package that assembles the program takes it from here and passes it on. It
// must never know what is done with a data plane. A new one is one more line in All.
package dataplanes

import (
	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/dataplane/envoy"
	"cardea.dev/cardea/internal/dataplane/envoy/files"
)

// All has the data planes; a Gateway that asks for none has the first.
func All() []dataplane.Dialect {
	return []dataplane.Dialect{envoy.Dialect(), files.Dialect()}
}
