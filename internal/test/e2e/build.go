package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Build builds the program and returns the binary's path.
func Build(t testing.TB) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "cardea")
	out, err := exec.Command("go", "build", "-o", binary, "cardea.dev/cardea/cmd/cardea").CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}
