package e2e

import (
	"sync"
	"testing"

	"cardea.dev/cardea/internal/app/builtin"
	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/schema"
)

// own is the program with the features that Cardea has by itself.
var Own = sync.OnceValue(func() *Plugged {
	p, err := Plug(builtin.Plugins())
	if err != nil {
		panic(err) // a mistake of a feature's declaration
	}
	return p
})

func pureWorld(t *testing.T, dir string) *world.World { return Own().world(t, dir) }
func Options(dir string) standalone.Options           { return Own().options(dir) }
func FindingsOf(t *testing.T, dir string) string      { return Own().findings(t, dir) }
func statusOf(t *testing.T, dir string) string        { return Own().status(t, dir) }
func ConfigOf(t *testing.T, dir string) string        { return Own().config(t, dir) }
func schemas() *schema.Schema                         { return Own().schemas() }
func isValid(doc map[string]any) bool                 { return Own().IsValid(doc) }
func worldOf(t *testing.T, docs []map[string]any) *world.World {
	t.Helper()
	return Own().WorldOf(t, docs)
}
