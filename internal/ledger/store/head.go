package store

import (
	"context"
	"fmt"

	"cardea.dev/cardea/internal/core/ledger"
)

// headRow is the one row of its table.
type headRow struct {
	change, at, compacted, registry, denial, now int64
	digest, checkpoint, epoch, denialDigest      string
	needs                                        requirements
}

// requirements is what a program has to know to use the tables.
type requirements struct {
	migration int64  // the newest
	program   string // what the first program with it is called
}

// checkVersion refuses tables that are newer than the program: what they mean, and what has to be written, it does not
// know.
func (n requirements) checkVersion(known int64) error {
	if n.migration <= known {
		return nil
	}
	return &ledger.Error{Code: ledger.Unavailable, Fix: "replace the program; no data has to be changed",
		Message: fmt.Sprintf("this ledger is newer than the program: needs at least %s, with migration %d of its tables; "+
			"this program has %d", n.program, n.migration, known)}
}

// readHead reads head, if the program is new enough for the tables: others may migrate them at any time. Locked, nobody
// else numbers changes, edits targets or compacts until the transaction ends.
func readHead(t tx, locked bool) (h headRow, err error) {
	statement := `SELECT change, at, digest, compacted, checkpoint, epoch, registry, denial, denial_digest, {now},
		needs, needs_program FROM head`
	if locked {
		statement += ` WHERE id = 1 {lock}`
	}
	err = t.queryRow(statement).Scan(&h.change, &h.at, &h.digest, &h.compacted, &h.checkpoint, &h.epoch, &h.registry,
		&h.denial, &h.denialDigest, &h.now, &h.needs.migration, &h.needs.program)
	if err == nil {
		err = h.needs.checkVersion(t.dialect.newestMigration)
	}
	return h, err
}

// Head answers where the ledger is.
func (s *Store) Head(ctx context.Context) (answer ledger.Head, err error) {
	err = s.withSameFile(func() error {
		var n requirements
		err := s.readDB.QueryRowContext(ctx, `SELECT change, compacted, digest, epoch, needs, needs_program FROM head`).Scan(
			&answer.Change, &answer.Compacted, &answer.Digest, &answer.Epoch, &n.migration, &n.program)
		if err == nil {
			err = n.checkVersion(s.dialect.newestMigration)
		}
		return explainError(err)
	})
	return answer, err
}
