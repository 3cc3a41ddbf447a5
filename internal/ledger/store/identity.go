package store

import (
	"errors"
	"io/fs"
	"os"

	"cardea.dev/cardea/internal/core/ledger"
)

// withSameFile does something with the file that was opened. If the path names another file by then, or none, it
// answers an error: a process keeps the file that it opened, so what it would read or write there, nobody else would
// see.
func (s *Store) withSameFile(do func() error) error {
	if err := s.checkFile(); err != nil {
		return err
	}
	err := do()
	if replaced := s.checkFile(); replaced != nil {
		return replaced // also if it was done: it was done in the other file
	}
	return err
}

// checkFile returns an error if the path does not name the file that was opened.
func (s *Store) checkFile() error {
	if s.file == nil {
		return nil // it is no file
	}
	now, err := os.Stat(s.location)
	e := &ledger.Error{Code: ledger.Unavailable, Object: s.location, Cause: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Message = "the file was deleted or moved while it was open: nothing is read from it or written"
		e.Fix = "put it back, or restore a backup and start this program again"
	case err != nil:
		e.Message, e.Fix = "the file can't be looked at: "+err.Error(), "look at the permissions of its folder"
	case !os.SameFile(now, s.file):
		e.Message = "the file was replaced while it was open: nothing is read from it or written"
		e.Fix = "start this program again"
	default:
		return nil
	}
	return e
}
