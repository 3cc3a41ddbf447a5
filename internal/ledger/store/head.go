package store

import (
	"context"
	"fmt"

	"cardea.dev/cardea/internal/core/ledger"
)

// head is the one row of its table.
type head struct {
	change, at, compacted, registry, denial, now int64
	digest, checkpoint, epoch, denialDigest      string
	needs                                        needs
}

// needs is what a program has to know to use the tables.
type needs struct {
	migration int64  // the newest
	program   string // what the first program with it is called
}

// check refuses tables that are newer than the program: what they mean, and what has to be written, it does not know.
func (n needs) check(known int64) error {
	if n.migration <= known {
		return nil
	}
	return &ledger.Error{Code: ledger.Unavailable, Fix: "replace the program; no data has to be changed",
		Message: fmt.Sprintf("this ledger is newer than the program: needs at least %s, with migration %d of its tables; "+
			"this program has %d", n.program, n.migration, known)}
}

// readHead reads head, if the program is new enough for the tables: others may migrate them at any time. Locked, nobody
// else numbers changes, edits targets or compacts until the transaction ends.
func readHead(t tx, locked bool) (h head, err error) {
	statement := `SELECT change, at, digest, compacted, checkpoint, epoch, registry, denial, denial_digest, {now},
		needs, needs_program FROM head`
	if locked {
		statement += ` WHERE id = 1 {lock}`
	}
	err = t.row(statement).Scan(&h.change, &h.at, &h.digest, &h.compacted, &h.checkpoint, &h.epoch, &h.registry,
		&h.denial, &h.denialDigest, &h.now, &h.needs.migration, &h.needs.program)
	if err == nil {
		err = h.needs.check(t.dialect.newest)
	}
	return h, err
}

// Head answers where the ledger is.
func (s *Store) Head(ctx context.Context) (answer ledger.Head, err error) {
	err = s.identified(func() error {
		var n needs
		err := s.reads.QueryRowContext(ctx, `SELECT change, compacted, digest, epoch, needs, needs_program FROM head`).Scan(
			&answer.Change, &answer.Compacted, &answer.Digest, &answer.Epoch, &n.migration, &n.program)
		if err == nil {
			err = n.check(s.dialect.newest)
		}
		return explain(err)
	})
	return answer, err
}
