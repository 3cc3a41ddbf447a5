package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// Between two tries of what fails.
const (
	firstRetry = time.Second
	lastRetry  = 10 * time.Minute
)

// leasedWork is the row of work with the lease that is answered.
type leasedWork struct {
	generation, again int64
	failed            int
	secret            bool // the object is one
}

// findLease finds the row of a lease, and locks it; false: it is another's by now.
func findLease(t tx, object, cluster string, lease int64) (row leasedWork, ok bool, err error) {
	err = t.queryRow(`SELECT generation, failed, again, EXISTS (SELECT 1 FROM objects o WHERE o.id = work.object
		AND o.kind = 'Secret' AND o.grp = '') FROM work WHERE cluster = $1 AND object = $2 AND lease = $3 {lock}`,
		cluster, object, lease).Scan(&row.generation, &row.failed, &row.again, &row.secret)
	if errors.Is(err, sql.ErrNoRows) {
		return row, false, nil
	}
	return row, err == nil, err
}

// Record takes that a generation was applied, or that a deleted object is gone.
func (s *Store) Record(ctx context.Context, r ledger.Result) (recorded bool, err error) {
	hitFailpoint("before-record")
	err = s.runWrite(ctx, func(t tx) error {
		recorded = false
		now, err := readClock(t)
		if err != nil {
			return err
		}
		row, ok, err := findLease(t, r.Object, r.Cluster, r.Lease)
		if err != nil || !ok || r.Generation > row.generation {
			return err
		}
		r := r // do may run again
		if row.secret {
			if r.Result, err = s.sealResult(t, r.Object, r.Result); err != nil {
				return err
			}
		}
		if r.Gone {
			err = forgetObject(t, r.Object, r.Cluster)
			ok = err == nil
		} else {
			ok, err = s.noteApplied(t, now, r)
		}
		if err != nil || !ok {
			return err
		}
		recorded = true
		switch {
		case row.generation != r.Generation: // a newer one came meanwhile
			_, err = t.exec(`UPDATE work SET due = $3, lease = NULL, attempts = 0, failed = 0, silent = 0, again = 0
				WHERE cluster = $1 AND object = $2`, r.Cluster, r.Object, now)
		case row.again != 0: // it was seen to differ meanwhile
			_, err = t.exec(`UPDATE work SET due = again, lease = NULL, attempts = 0, failed = 0, silent = 0, again = 0
				WHERE cluster = $1 AND object = $2`, r.Cluster, r.Object)
		default:
			_, err = t.exec(`DELETE FROM work WHERE cluster = $1 AND object = $2`, r.Cluster, r.Object)
		}
		return err
	})
	hitFailpoint("after-record")
	return recorded && err == nil, err
}

// noteApplied writes the row of applied; false: a later generation is there.
func (s *Store) noteApplied(t tx, now int64, r ledger.Result) (bool, error) {
	n, err := t.exec(`INSERT INTO applied (object, cluster, grp, kind, namespace, name, generation, revision, lease, uid,
		kube_generation, result, at, code, message, permanent)
		SELECT id, CAST($2 AS text), grp, kind, namespace, name, CAST($3 AS bigint), CAST($4 AS bigint), CAST($5 AS bigint),
		CAST($6 AS text), CAST($7 AS bigint), CAST($8 AS text), CAST($9 AS bigint), '', '', 0 FROM objects WHERE id = $1
		ON CONFLICT (object, cluster) DO UPDATE SET generation = excluded.generation, revision = excluded.revision,
		lease = excluded.lease, uid = excluded.uid, kube_generation = excluded.kube_generation, result = excluded.result,
		at = excluded.at, code = '', message = '', permanent = 0 WHERE applied.generation <= excluded.generation`,
		r.Object, r.Cluster, r.Generation, r.Revision, r.Lease, r.UID, r.KubeGeneration, r.Result, now)
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "unique constraint") {
		return false, &ledger.Error{Code: ledger.Conflict, Cause: err,
			Message: "another target has this object in the same cluster",
			Fix:     "delete one of them: two targets of a cluster can't have the same object"}
	}
	return n > 0, err
}

// forgetObject removes what is known of an object in a cluster. Its history stays.
func forgetObject(t tx, object, cluster string) error {
	for _, table := range []string{"applied", "observed", "live"} {
		if _, err := t.exec("DELETE FROM "+table+" WHERE object = $1 AND cluster = $2", object, cluster); err != nil {
			return err
		}
	}
	return nil
}

// Fail takes that it failed.
func (s *Store) Fail(ctx context.Context, f ledger.Failure) (taken bool, err error) {
	err = s.runWrite(ctx, func(t tx) error {
		taken = false
		now, err := readClock(t)
		if err != nil {
			return err
		}
		row, ok, err := findLease(t, f.Object, f.Cluster, f.Lease)
		if err != nil || !ok {
			return err
		}
		due, failed := now+retryAfter(row.failed, f.Permanent).Microseconds(), row.failed+1
		if row.generation != f.Generation {
			due, failed = now, 0 // that is another one
		}
		_, err = t.exec(`UPDATE work SET failed = $3, lease = NULL, due = $4, silent = 0, again = 0
			WHERE cluster = $1 AND object = $2`, f.Cluster, f.Object, failed, due)
		if err != nil {
			return err
		}
		taken = true
		return noteFailure(t, now, f)
	})
	return taken && err == nil, err
}

// retryAfter is when something is tried again that failed some times before.
func retryAfter(failed int, permanent bool) time.Duration {
	if permanent {
		return permanentRetry
	}
	d := lastRetry
	if failed < 10 {
		d = min(d, firstRetry<<failed)
	}
	return d/2 + rand.N(d/2)
}

// noteFailure writes a failure into the log and into the row of applied, which keeps its generation.
func noteFailure(t tx, now int64, f ledger.Failure) error {
	permanent := 0
	if f.Permanent {
		permanent = 1
	}
	f.Code, f.Message = cleanText(f.Code), cleanText(f.Message)
	if f.Code == "" {
		f.Code = "Failed"
	}
	_, err := t.exec(`INSERT INTO applied (object, cluster, grp, kind, namespace, name, generation, revision, lease, uid,
		kube_generation, result, at, code, message, permanent)
		SELECT id, CAST($2 AS text), grp, kind, namespace, name, 0, 0, 0, '', 0, '', 0, CAST($3 AS text), CAST($4 AS text),
		CAST($5 AS smallint) FROM objects WHERE id = $1
		ON CONFLICT (object, cluster) DO UPDATE SET code = excluded.code, message = excluded.message,
		permanent = excluded.permanent`, f.Object, f.Cluster, f.Code, f.Message, permanent)
	if err != nil {
		return err
	}
	return logFailure(t, now, f.Object, f.Generation, f.Cluster, "", f.Code, f.Message)
}

// logFailure adds to the log that history shows. The same failure again is counted, so the log has an end.
func logFailure(t tx, now int64, object string, generation int64, cluster, gateway, code, message string) error {
	_, err := t.exec(`INSERT INTO attempts (object, generation, cluster, gateway, code, message, times, at)
		VALUES ($1, $2, $3, $4, $5, $6, 1, $7) ON CONFLICT (object, generation, cluster, gateway, code) DO UPDATE SET
		message = excluded.message, times = attempts.times + 1, at = excluded.at`,
		object, generation, cluster, gateway, code, message, now)
	return err
}

// maxMessageBytes is how much of a message is kept.
const maxMessageBytes = 4096

// cleanText is a text as both databases can keep it.
func cleanText(text string) string {
	if len(text) > maxMessageBytes {
		text = text[:maxMessageBytes]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "?")
}

// readClock is the database's time, if the program is new enough for the tables.
func readClock(t tx) (now int64, err error) {
	var n requirements
	if err = t.queryRow("SELECT {now}, needs, needs_program FROM head").Scan(&now, &n.migration, &n.program); err != nil {
		return 0, fmt.Errorf("ask for the time: %w", err)
	}
	return now, n.checkVersion(t.dialect.newestMigration)
}

// Retry makes what failed due now.
func (s *Store) Retry(ctx context.Context, cluster string, keys []ledger.Key) (n int, err error) {
	err = s.runWrite(ctx, func(t tx) error {
		now, err := readClock(t)
		if err != nil {
			return err
		}
		w := whereBuilder{args: []any{now}}
		w.addCondition("failed > 0 AND lease IS NULL")
		w.addEquals("cluster", cluster)
		if keys != nil {
			w.addCondition("object IN (SELECT o.id FROM {rows %s} JOIN objects o ON "+sameKey+")", keyTable(keys).toJSON())
		}
		rows, err := t.exec("UPDATE work SET due = $1, silent = 0"+w.whereClause(), w.args...)
		n = int(rows)
		return err
	})
	return n, err
}
