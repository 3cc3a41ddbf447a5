package e2e

import (
	"flag"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cardea.dev/cardea/internal/app/builtin"
	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/schema"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata; inspect the diff")

// TestBehaviour runs every txtar file below testdata (Plugged.Behaviour says what is in them).
func TestBehaviour(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	simulated := NewComparison(t)
	t.Cleanup(func() { simulated.checkOpen(t) })
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			own().Behaviour(t, path, simulated, *update)
		})
	}
}

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

// readPerturbed has the files of testdata.
func readPerturbed(t *testing.T) *perturbed {
	t.Helper()
	return own().perturbed(t, testdata(t))
}
