package store

import (
	"context"

	"cardea.dev/cardea/internal/ledger"
)

// head is the one row of its table.
type head struct {
	change, at, compacted, registry, denial, now int64
	digest, checkpoint, epoch, denialDigest      string
}

// readHead reads head. Locked, nobody else numbers changes, edits targets or compacts until the transaction ends.
func readHead(t tx, locked bool) (h head, err error) {
	statement := `SELECT change, at, digest, compacted, checkpoint, epoch, registry, denial, denial_digest, {now}
		FROM head`
	if locked {
		statement += ` WHERE id = 1 {lock}`
	}
	err = t.row(statement).Scan(&h.change, &h.at, &h.digest, &h.compacted, &h.checkpoint, &h.epoch, &h.registry,
		&h.denial, &h.denialDigest, &h.now)
	return h, err
}

// Head answers where the ledger is.
func (s *Store) Head(ctx context.Context) (answer ledger.Head, err error) {
	err = s.identified(func() error {
		return explain(s.reads.QueryRowContext(ctx, `SELECT change, compacted, digest, epoch FROM head`).Scan(
			&answer.Change, &answer.Compacted, &answer.Digest, &answer.Epoch))
	})
	return answer, err
}
