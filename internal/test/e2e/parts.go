package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Source is the path of a file or folder of Cardea's sources.
func Source(t testing.TB, path string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "floors_test.go")); err == nil {
			return filepath.Join(dir, path)
		} else if !errors.Is(err, os.ErrNotExist) || dir == filepath.Dir(dir) {
			t.Fatalf("the test does not run in Cardea's sources: %v", err)
		}
		dir = filepath.Dir(dir)
	}
}

// Fetched is the path that hack/get-NAME.sh prints, where programs are that tests need. Without them the test is
// skipped, or fails if $CI is set.
func Fetched(t testing.TB, name string) string {
	t.Helper()
	script := "hack/get-" + name + ".sh"
	command := exec.Command(Source(t, script))
	command.Stderr = t.Output()
	out, err := command.Output()
	if err != nil && os.Getenv("CI") == "" {
		t.Skipf("there is no %s: %s", name, script)
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// Built builds a program, a module of its own in a folder of Cardea's sources, and returns its path.
func Built(t testing.TB, folder string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), filepath.Base(folder))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // it may have to be downloaded
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
	build.Dir = Source(t, folder)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", folder, err, out)
	}
	return binary
}

// builtPart builds a program of parts.
func BuiltPart(t testing.TB, name string) string {
	t.Helper()
	return Built(t, filepath.Join("internal/test/e2e/parts", name))
}

// started runs a program until the test ends, and returns the first line that it prints: where it listens.
func Started(t testing.TB, command *exec.Cmd) (line string) {
	t.Helper()
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	if _, err := fmt.Fscanln(out, &line); err != nil {
		t.Fatalf("%s tells no address: %v", command.Path, err)
	}
	return line
}
