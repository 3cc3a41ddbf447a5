package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cardea.dev/cardea/internal/ledger"
)

// TestDiskFull: on a full disk a change is refused with words, nothing of it is kept, and the ledger goes on when there
// is room again.
func TestDiskFull(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("a small disk can't be mounted (not root?): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s := openFile(t, filepath.Join(folder, "ledger.db"))
	ballast := filepath.Join(folder, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	kept := int64(0)
	var refused error
	for i := range 1000 {
		e := edit("web", strings.Repeat("x", 20_000)+string(rune('a'+i%26))+strings.Repeat("y", i))
		c, err := s.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{e, edit("api", e.Content.Hash())}})
		if err != nil {
			refused = err
			break
		}
		kept = c.Number
	}
	if e, ok := errors.AsType[*ledger.Error](refused); !ok || e.Code != ledger.Unavailable || e.Fix == "" {
		t.Fatalf("after %d changes the error is %v", kept, refused)
	}
	t.Logf("after %d changes: %v", kept, refused)
	if h := headOf(t, s); h.Change != kept {
		t.Fatalf("the head is %+v, %d were acknowledged", h, kept)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if c := commit(t, s, edit("web", "small")); c.Number != kept+1 {
		t.Fatalf("the change is %+v", c)
	}
	verify(t, s)
}
