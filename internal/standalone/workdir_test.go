package standalone

import (
	"os"
	"path/filepath"
	"testing"
)

// What a killed program left is removed by the next one; what a living one uses is not.
func TestWorkDirs(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	stale := filepath.Join(os.TempDir(), workPrefix+"stale")
	if err := os.MkdirAll(filepath.Join(stale, "envoy"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(stale, lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first, removeFirst, err := workDir("")
	if err != nil {
		t.Fatal(err)
	}
	second, removeSecond, err := workDir("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("the folder of a program that is gone is still there: %v", err)
	}
	for _, dir := range []string{first, second} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}
	for _, remove := range []func() error{removeFirst, removeSecond} {
		if err := remove(); err != nil {
			t.Error(err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
