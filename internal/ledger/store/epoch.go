package store

import (
	"context"
	"database/sql"
	"errors"

	"cardea.dev/cardea/internal/core/ledger"
)

// NewEpoch says that the ledger was restored from a backup and counts as it is: a reader that has seen numbers above
// its newest one, or follows it, has to read everything again. Work that failed in clusters is due, and results of the
// epoch before count for nothing.
func (s *Store) NewEpoch(ctx context.Context) error {
	err := s.runWrite(ctx, func(t tx) error {
		h, err := readHead(t, true)
		if err != nil {
			return err
		}
		if _, err := t.exec("UPDATE head SET epoch = $1 WHERE id = 1", ledger.NextEpoch(h.epoch, h.now)); err != nil {
			return err
		}
		_, err = t.exec(`UPDATE work SET due = $1, lease = NULL, silent = 0 WHERE failed > 0 OR lease IS NOT NULL`, h.now)
		return err
	})
	if err == nil {
		s.notifyCommitted()
	}
	return err
}

// isBehind tells whether a cluster has seen a change that is not in the ledger's history.
func isBehind(t tx, h ledger.Head, list []ledger.Seen) (bool, error) {
	for _, seen := range list {
		switch {
		case ledger.IsLater(seen.Epoch, h.Epoch):
			return true, nil
		case seen.Epoch != h.Epoch || seen.Change < h.Compacted:
			continue
		case seen.Change > h.Change:
			return true, nil
		}
		var digest string
		err := t.queryRow("SELECT digest FROM changes WHERE number = $1", seen.Change).Scan(&digest)
		switch {
		case errors.Is(err, sql.ErrNoRows): // it is not kept any more
		case err != nil:
			return false, err
		case digest != seen.Digest:
			return true, nil
		}
	}
	return false, nil
}
