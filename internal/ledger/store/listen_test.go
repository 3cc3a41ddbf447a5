package store

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// Who watches a file sees what another process commits at once. If it only looked every second, so many changes would
// take twice as long as they may.
func TestFileTellsOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	writer, reader := openFile(t, path), openFile(t, path)
	const changes = 20
	seen := make(chan int64)
	go func() {
		defer close(seen)
		for c, err := range reader.Watch(t.Context(), 0) {
			if err != nil {
				return
			}
			seen <- c.Number
			if c.Number == changes {
				return
			}
		}
	}()
	began := time.Now()
	for i := range changes {
		_, err := writer.Commit(t.Context(), ledger.Draft{Author: "alice",
			Edits: []ledger.Edit{edit("web", fmt.Sprint("v", i))}})
		if err != nil {
			t.Fatal(err)
		}
		if n := <-seen; n != int64(i+1) {
			t.Fatalf("change %d came, want %d", n, i+1)
		}
	}
	if took := time.Since(began); took > changes*pollFile/2 {
		t.Errorf("%d changes took %s to be seen", changes, took)
	}
}
