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
var own = sync.OnceValue(func() *Plugged {
	p, err := Plug(builtin.Plugins())
	if err != nil {
		panic(err) // a mistake of a feature's declaration
	}
	return p
})

func pureWorld(t *testing.T, dir string) *world.World { return own().world(t, dir) }
func options(dir string) standalone.Options           { return own().options(dir) }
func findingsOf(t *testing.T, dir string) string      { return own().findings(t, dir) }
func statusOf(t *testing.T, dir string) string        { return own().status(t, dir) }
func configOf(t *testing.T, dir string) string        { return own().config(t, dir) }
func schemas() *schema.Schema                         { return own().schemas() }
func isValid(doc map[string]any) bool                 { return own().isValid(doc) }
func worldOf(t *testing.T, docs []map[string]any) *world.World {
	t.Helper()
	return own().worldOf(t, docs)
}
