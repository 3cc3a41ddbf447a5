package e2e

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"cardea.dev/cardea/internal/standalone"
)

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
