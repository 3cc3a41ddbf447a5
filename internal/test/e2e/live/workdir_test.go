package live

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"cardea.dev/cardea/internal/app/standalone"
)

// TestProxyMemory: a proxy that may take some memory knows it.
func TestProxyMemory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "w")
	s := open(t, shop(), func(o *standalone.Options) { o.WorkDir, o.Memory = dir, 1<<30 })
	s.expect("GET http://shop.example/ -> 200 blue")
	found := false
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		found = found || bytes.Contains(text, []byte("fixed_heap"))
		return err
	})
	if err != nil || !found {
		t.Errorf("%v: no proxy was told how much memory it may take", err)
	}
}

// TestWorkFolderGone takes the work folder away, as what cleans up temporary folders does: the next proxy that starts
// finds the server all the same.
func TestWorkFolderGone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "w")
	s := open(t, shop(), func(o *standalone.Options) { o.WorkDir = dir })
	s.expect("GET http://shop.example/ -> 200 blue")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.reads("process started").PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.soon("GET http://shop.example/ -> 200 blue")
	s.says("gateway/shop/web", "Programmed=True")
}
