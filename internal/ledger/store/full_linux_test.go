package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/test/postgrestest"
)

// TestDiskFull: on a full disk a change is refused with words, nothing of it is kept, and the ledger goes on when there
// is room again.
func TestDiskFull(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		folder := t.TempDir()
		postgrestest.SmallDisk(t, folder, 3<<20)
		fill(t, openFile(t, filepath.Join(folder, "ledger.db")), folder)
	})
	t.Run("postgres", func(t *testing.T) {
		// The log of a server ends it when there is no room for it. So only the tables are on the small disk.
		url, folder := postgrestest.Start(t).NewOnDisk(t, "small", 16<<20)
		fill(t, openServer(t, url), folder)
	})
}

// fill makes changes until the disk of a folder is full, makes room, and goes on.
func fill(t *testing.T, s *Store, folder string) {
	ballast := filepath.Join(folder, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	var kept ledger.Change
	var refused error
	for i := range 1000 {
		var text strings.Builder
		for text.Len() < 20_000 {
			text.WriteString(rand.Text()) // what has no pattern is not compressed
		}
		e := edit("web", text.String())
		c, err := s.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{e, edit(fmt.Sprint("api-", i), e.Content.Hash())}})
		if err != nil {
			refused = err
			break
		}
		kept = c
	}
	if e, ok := errors.AsType[*ledger.Error](refused); !ok || e.Code != ledger.Unavailable || e.Fix == "" ||
		!strings.Contains(e.Message, "disk") {
		t.Fatalf("after %d changes the error is %v", kept.Number, refused)
	}
	t.Logf("after %d changes: %v", kept.Number, refused)
	if h := headOf(t, s); h.Change != kept.Number || h.Digest != kept.Digest {
		t.Fatalf("the head is %+v, %d were acknowledged", h, kept.Number)
	}
	missing := edit(fmt.Sprint("api-", kept.Number), "").Key
	if o, err := s.Object(t.Context(), missing, 0); ledger.CodeOf(err) != ledger.NotFound {
		t.Fatalf("of the refused change there is %+v, %v", o, err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if c := commit(t, s, edit("web", "small")); c.Number != kept.Number+1 {
		t.Fatalf("the change is %+v", c)
	}
	if v := verify(t, s); v.Changes != kept.Number+1 {
		t.Fatalf("of %d changes are kept %+v", kept.Number+1, v)
	}
}
