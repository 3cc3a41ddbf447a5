package store

import (
	"database/sql"
	"errors"
)

// Rows of work have their turn by (due, change, rank). Those of a change that were made due together lie side by side
// in that order, lower ranks first. If one of them waits for a lower rank, so do all after it that are of the same
// change and the same time. So waiting rows are passed over in one step for each change, however many objects that has.

// dueGroup is the start of the rows of one change that are due at one time.
type dueGroup struct{ due, change int64 }

// claimStatement takes the first rows that wait for nothing in a window that begins at a turn. Both parts of it use an
// index: without the window, the barrier would be quadratic.
func claimStatement(d *sqlDialect) string {
	const window = `WITH first AS MATERIALIZED (SELECT cluster, object, change, rank, due FROM work
		WHERE cluster = $1 AND due <= $2 AND (due, change) >= ($9, $10) AND target NOT IN ({list $3})
		ORDER BY due, change, rank LIMIT $4),
		picked AS (SELECT w.cluster, w.object FROM first f JOIN work w ON w.cluster = f.cluster AND w.object = f.object
		WHERE w.due <= $2 AND NOT EXISTS (SELECT 1 FROM work b
			WHERE b.cluster = f.cluster AND b.change = f.change AND b.rank < f.rank AND b.failed = 0)
		ORDER BY f.due, f.change, f.rank LIMIT $5 {skip})
		UPDATE work SET due = $6, lease = $7, worker = $8, attempts = attempts + 1, silent = silent + 1 `
	if d.name == "postgres" {
		return window + `FROM picked p WHERE work.cluster = p.cluster AND work.object = p.object
			RETURNING work.object, work.attempts`
	}
	return window + `WHERE (cluster, object) IN (SELECT cluster, object FROM picked) RETURNING object, attempts`
}

// nextDueGroup is the first turn after one that has a row that waits for nothing. It steps from turn to turn: the
// smallest one after the last one is a look into the index, and so is the lowest rank of its change that others wait
// for. The additions have SQLite use both columns of the index: what is compared with them must have no type of its
// own.
const nextDueGroup = `WITH RECURSIVE turns (due, change) AS (
	SELECT CAST($4 AS bigint), CAST($5 AS bigint)
	UNION ALL
	SELECT n.due, n.change FROM turns s JOIN work n ON n.cluster = $1 AND n.object = (SELECT x.object FROM work x
		WHERE x.cluster = $1 AND x.due <= $2 AND (x.due, x.change) > (s.due + 0, s.change + 0)
		ORDER BY x.due, x.change LIMIT 1))
	SELECT s.due, s.change FROM turns s WHERE (s.due, s.change) > ($4, $5) AND EXISTS (SELECT 1 FROM work w
		WHERE w.cluster = $1 AND w.due = s.due AND w.change = s.change AND w.target NOT IN ({list $3})
		AND w.rank <= coalesce((SELECT b.rank FROM work b WHERE b.cluster = $1 AND b.change = s.change AND b.failed = 0
			ORDER BY b.rank LIMIT 1), 32767)) LIMIT 1`

// findNextGroup finds the next turn; false: all that is due waits.
func (c *claimer) findNextGroup(t tx, from dueGroup, paused []string) (dueGroup, bool, error) {
	var to dueGroup
	err := t.queryRow(nextDueGroup, c.query.Cluster, c.now, columnTable(paused).toJSON(), from.due,
		from.change).Scan(&to.due, &to.change)
	if errors.Is(err, sql.ErrNoRows) {
		return to, false, nil
	}
	return to, err == nil, err
}
