package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// parts are real programs that tests need: modules of their own below parts.
var parts struct {
	sync.Mutex
	dir   string
	built map[string]error
}

// builtPart builds a program of parts, once, and returns its path.
func builtPart(t testing.TB, name string) string {
	t.Helper()
	parts.Lock()
	defer parts.Unlock()
	if parts.dir == "" {
		dir, err := os.MkdirTemp("", "e2e-parts-")
		if err != nil {
			t.Fatal(err)
		}
		parts.dir, parts.built = dir, map[string]error{}
	}
	binary := filepath.Join(parts.dir, name)
	if _, is := parts.built[name]; !is {
		build := exec.Command("go", "build", "-o", binary, ".")
		build.Dir = filepath.Join("parts", name)
		if out, err := build.CombinedOutput(); err != nil {
			parts.built[name] = fmt.Errorf("%w\n%s", err, out)
		} else {
			parts.built[name] = nil
		}
	}
	if err := parts.built[name]; err != nil {
		t.Fatalf("build %s: %v", name, err)
	}
	return binary
}

func cleanUpParts() {
	parts.Lock()
	defer parts.Unlock()
	if parts.dir != "" {
		_ = os.RemoveAll(parts.dir)
	}
}
