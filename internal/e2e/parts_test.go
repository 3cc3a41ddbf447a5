package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// builtPart builds a program that tests need, a module of its own below parts, and returns its path.
func builtPart(t testing.TB, name string) string {
	return builtIn(t, name, filepath.Join("parts", name))
}

func builtIn(t testing.TB, name, dir string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), name)
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return binary
}
