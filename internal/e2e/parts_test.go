package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// builtPart builds a program that tests need, a module of its own below parts, and returns its path.
func builtPart(t testing.TB, name string) string {
	return builtIn(t, name, filepath.Join("parts", name))
}

func builtIn(t testing.TB, name, dir string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), name)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // it may have to be downloaded
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return binary
}
