package store

import (
	"context"
	"errors"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// openTimeout is how long Open waits for other processes that begin to use a new file.
const openTimeout = 10 * time.Second

// retryWhileBusy repeats what SQLite refuses since another process is in its way. The change of a new file to the mode
// WAL does not wait for others by itself, whatever the timeout.
func retryWhileBusy(ctx context.Context, do func() error) error {
	for end := time.Now().Add(openTimeout); ; {
		err := do()
		of, is := errors.AsType[*sqlite.Error](err)
		if !is || of.Code()&0xff != sqlite3.SQLITE_BUSY || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}
