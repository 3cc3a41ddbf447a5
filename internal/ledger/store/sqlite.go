package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"cardea.dev/cardea/internal/core/ledger"
)

// fileReaders is how many connections read a file at once.
const fileReaders = 4

// connectFile opens a file. One connection writes: SQLite has one writer at a time, also among processes, and a queue
// here is fairer than waiting for its lock. Transactions that write begin with BEGIN IMMEDIATE.
func (s *Store) connectFile(path string, existing bool) error {
	s.dialect = newSQLite()
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("open ledger: %w", err)
	}
	s.location = path
	// SQLite gives a new file the permissions of the umask, and its -wal file those of the file. Nobody else is to read
	// it.
	flags := os.O_RDWR | os.O_CREATE
	if existing {
		flags = os.O_RDWR
	}
	file, err := os.OpenFile(path, flags, 0o600)
	if existing && errors.Is(err, fs.ErrNotExist) {
		return &ledger.Error{Code: ledger.NotFound, Object: path, Message: "there is no such ledger",
			Fix: "name one that is there, or make it: `cardea ledger apply` does", Cause: err}
	}
	if err != nil {
		return &ledger.Error{Code: ledger.Unavailable, Object: path, Message: "the file can't be opened: " + err.Error(),
			Fix: "name a file in a folder that may be written", Cause: err}
	}
	s.file, err = file.Stat()
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("open ledger: %w", err)
	}
	name := fileName(path) + filePragmas
	if s.writeDB, err = sql.Open("sqlite", name+"&_pragma=cache_size(-32768)&_txlock=immediate"); err != nil {
		return fmt.Errorf("open ledger: %w", err)
	}
	s.writeDB.SetMaxOpenConns(1)
	if s.readDB, err = sql.Open("sqlite", name+"&_pragma=cache_size(-16384)&_pragma=query_only(1)"); err != nil {
		return fmt.Errorf("open ledger: %w", err)
	}
	s.readDB.SetMaxOpenConns(fileReaders)
	s.readDB.SetMaxIdleConns(fileReaders)
	s.readDB.SetConnMaxIdleTime(time.Minute)
	return nil
}

// filePragmas are what each connection begins with. With synchronous(FULL), what was committed is on the disk. Each
// connection has a cache of its own. Its size in KiB is stated where it is opened: a program has up to five of them.
const filePragmas = "?_pragma=busy_timeout(25000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
	"&_pragma=temp_store(MEMORY)"

// fileName is a path as SQLite wants it, with what means something in URLs escaped.
func fileName(path string) string {
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String()
}

// explainSQLite says what an error of SQLite means to a user; nil if it is none of SQLite's.
func explainSQLite(err error) *ledger.Error {
	of, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return nil
	}
	e := &ledger.Error{Code: ledger.Unavailable, Cause: err}
	switch of.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		e.Message, e.Fix = "the disk of the ledger is full: nothing was written", "make room; no restart is needed"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		e.Message, e.Fix = "another process has been writing to the ledger for too long", "try again"
	case sqlite3.SQLITE_IOERR:
		e.Message = "the file of the ledger can't be read or written: " + of.Error()
		e.Fix = "look at the disk: is there room, and may the file be written?"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		e.Message, e.Fix = "the file of the ledger can't be written: "+of.Error(), "look at its permissions and its folder's"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		e.Message, e.Fix = "the file is no ledger, or it is damaged: "+of.Error(), "name another one, or restore a backup"
	default:
		return nil
	}
	return e
}

// optimizeIndexes has SQLite count its rows, so that it takes the right indices.
func (s *Store) optimizeIndexes(ctx context.Context) error {
	if s.dialect.name != "sqlite3" {
		return nil // autovacuum does
	}
	_, err := s.writeDB.ExecContext(ctx, "PRAGMA optimize")
	return err
}
