package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestDiff runs every txtar file below testdata/diff: the files of live/ are served, then each section "diff DIR ..."
// holds what that command prints of another of its folders, and in a last line its exit code. "..." stands for
// anything.
func TestDiff(t *testing.T) {
	paths, err := filepath.Glob("testdata/diff/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	binary := Build(t)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			diffs(t, binary, path)
		})
	}
}

func diffs(t *testing.T, binary, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, f := range archive.Files {
		if strings.HasPrefix(f.Name, "diff ") {
			continue
		}
		name := filepath.Join(root, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := Start(t, filepath.Join(root, "live"))
	p.Ready(t)
	for _, f := range archive.Files {
		if !strings.HasPrefix(f.Name, "diff ") {
			continue
		}
		cmd := exec.Command(binary, strings.Fields(f.Name)...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CARDEA_SERVER="+p.Admin)
		got, err := cmd.CombinedOutput()
		code := 0
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		got = fmt.Appendf(got, "[exit %d]\n", code)
		if !Matches(string(got), string(f.Data)) {
			t.Errorf("$ cardea %s\n%s\nwant:\n%s", f.Name, got, f.Data)
		}
	}
}
