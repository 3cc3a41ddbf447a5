package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// upkeepEvery is between two upkeeps; the first one comes soon, but not with the start.
const (
	upkeepFirst = time.Minute
	upkeepEvery = time.Hour
)

// Run keeps the database small and quick, until ctx ends: it compacts and seals anew every hour. Any number of programs
// of a ledger may run it: each time one of them does it.
func (s *Store) Run(ctx context.Context, k Retention) error {
	for pause(ctx, upkeepFirst); ctx.Err() == nil; pause(ctx, upkeepEvery) {
		if _, err := s.runUpkeep(ctx, k); err != nil && ctx.Err() == nil {
			s.log.Warn("the ledger was not compacted", "error", err)
		}
	}
	return nil
}

// runUpkeep does once what Run does every hour; false: another program has begun it within the hour.
func (s *Store) runUpkeep(ctx context.Context, k Retention) (done bool, err error) {
	err = s.runWrite(ctx, func(t tx) error {
		now, err := readClock(t)
		if err != nil {
			return err
		}
		n, err := t.exec(`UPDATE head SET upkeep = $1 WHERE id = 1 AND upkeep <= $2`, now,
			now-(upkeepEvery-upkeepFirst).Microseconds())
		done = n == 1
		return err
	})
	if err != nil || !done {
		return false, err
	}
	return true, errors.Join(s.Compact(ctx, k), s.Reseal(ctx), s.optimizeIndexes(ctx))
}

// Reseal seals with the first key of the key file what was sealed with another one. Afterwards that may go.
func (s *Store) Reseal(ctx context.Context) error {
	var sealed []byte
	var id string
	err := s.readDB.QueryRowContext(ctx, "SELECT hash_key, hash_key_id FROM head").Scan(&sealed, &id)
	if err != nil || sealed == nil {
		return explainError(err)
	}
	s.keys.mu.Lock()
	s.keys.list = nil // it may have changed
	err = s.keys.loadKeys(false)
	var first string
	if err == nil {
		first = s.keys.list[0].id
	}
	s.keys.mu.Unlock()
	if err == nil {
		err = s.resealProposals(ctx, first)
	}
	if err != nil {
		return err
	}
	for more := true; more; {
		err := s.runWrite(ctx, func(t tx) error {
			if _, err := readHead(t, true); err != nil {
				return err
			}
			type row struct {
				hash, id string
				body     []byte
			}
			var list []row
			err := t.queryRows(func(rows *sql.Rows) error {
				var r row
				err := rows.Scan(&r.hash, &r.id, &r.body)
				list = append(list, r)
				return err
			}, "SELECT hash, key_id, body FROM contents WHERE key_id <> '' AND key_id <> $1 LIMIT 100", first)
			if more = len(list) == 100; err != nil {
				return err
			}
			for _, r := range list {
				if r.id, r.body, err = s.keys.resealText(r.id, r.body, r.hash); err != nil {
					return err
				}
				_, err := t.exec("UPDATE contents SET key_id = $2, body = $3 WHERE hash = $1", r.hash, r.id, r.body)
				if err != nil {
					return err
				}
			}
			if more || id == first {
				return nil
			}
			if id, sealed, err = s.keys.resealText(id, sealed, hashKeyName); err != nil {
				return err
			}
			_, err = t.exec("UPDATE head SET hash_key = $1, hash_key_id = $2 WHERE id = 1", sealed, id)
			return err
		})
		if err != nil {
			return fmt.Errorf("seal the ledger's Secrets anew: %w", err)
		}
	}
	return nil
}

// resealText seals with the first key what another one opens.
func (r *keyring) resealText(id string, sealed []byte, name string) (string, []byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, err := r.openSealed(id, sealed, name)
	if err != nil {
		return "", nil, err
	}
	return r.sealText(text, name)
}

// Backup writes the whole ledger, as it is at one moment, to a new file. The key file is not in it. It works beside
// commits.
func (s *Store) Backup(ctx context.Context, path string) error {
	if s.dialect.name == "postgres" {
		return &ledger.Error{Code: ledger.Invalid, Message: "a ledger in PostgreSQL is backed up by PostgreSQL's own means",
			Fix: "run pg_dump"}
	}
	// SQLite would make it readable for others.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return &ledger.Error{Code: ledger.Invalid, Object: path, Message: "can't be made: " + err.Error(),
			Fix: "name a file that is not there yet", Cause: err}
	}
	err = s.withSameFile(func() error { return s.backupInto(ctx, path) })
	err = errors.Join(err, file.Sync(), file.Close())
	if err != nil {
		return errors.Join(explainError(fmt.Errorf("back up the ledger: %w", err)), os.Remove(path))
	}
	return nil
}

func (s *Store) backupInto(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", fileName(s.location)+filePragmas)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?1", path)
	return errors.Join(err, db.Close())
}
