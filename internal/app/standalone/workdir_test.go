package standalone

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/model"
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

// A folder that was there is taken as it is, or not at all: its mode may serve others, too.
func TestAWorkDirThatIsThere(t *testing.T) {
	for mode, want := range map[os.FileMode]string{
		0o700:                 "",
		0o755:                 "open to other users (mode 0755)",
		0o777 | os.ModeSticky: "open to other users (mode 0777)",
	} {
		dir := filepath.Join(t.TempDir(), "w")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		got, _, err := workDir(dir)
		if want == "" && (err != nil || got != dir) {
			t.Errorf("%s: %q, %v", mode, got, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "--work-dir")) {
			t.Errorf("%s: %v, want %q and the flag", mode, err, want)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode() != mode|os.ModeDir {
			t.Errorf("%s became %v (%v)", mode, info.Mode(), err)
		}
	}
	fresh := filepath.Join(t.TempDir(), "a", "b")
	if _, _, err := workDir(fresh); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(fresh); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("a new folder: %v, %v", info, err)
	}
	if os.Getuid() != 0 {
		return
	}
	if err := os.Chown(fresh, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := workDir(fresh); err == nil || !strings.Contains(err.Error(), "another user (12345)") {
		t.Errorf("another user's folder: %v", err)
	}
}

// The longest path that is taken is one that a socket can have, the next one is refused.
func TestAWorkDirsPathIsShort(t *testing.T) {
	base, err := os.MkdirTemp("", "w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	longest := ""
	for n := range maxSocket {
		dir := filepath.Join(base, strings.Repeat("x", n+1))
		if _, _, err := workDir(dir); err != nil {
			if !strings.Contains(err.Error(), "too long") || !strings.Contains(err.Error(), "--work-dir") {
				t.Errorf("%v, want the flag", err)
			}
			break
		}
		longest = dir
	}
	socket := adminSocket(proxyDir(longest, model.Ref(model.KindGateway, "shop", "web")))
	if err := os.Mkdir(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatalf("a socket of %d bytes: %v", len(socket), err)
	}
	l.Close()
	t.Setenv("TMPDIR", filepath.Dir(socket))
	if _, _, err := workDir(""); err == nil || !strings.Contains(err.Error(), "--work-dir") {
		t.Errorf("a temporary folder at a long path: %v", err)
	}
}
