package e2e

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"
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
			Own().Behaviour(t, path, simulated, *update)
		})
	}
}

// readPerturbed has the files of testdata.
func readPerturbed(t *testing.T) *perturbed {
	t.Helper()
	return Own().perturbed(t, testdata(t))
}
