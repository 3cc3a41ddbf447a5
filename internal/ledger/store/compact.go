package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Retention says how much of the past is kept. A generation that is current, applied in a cluster, or live in a proxy
// is always kept.
type Retention struct {
	Age         time.Duration // of changes and generations; 0: 90 days
	Generations int           // of an object, with contents; 0: 50
	Secrets     int           // the same of Secrets; 0: 3
}

// The defaults of Retention.
const (
	defaultAge         = 90 * 24 * time.Hour
	defaultGenerations = 50
	defaultSecrets     = 3
)

// compactPage is how many rows a transaction of compaction looks at: commits wait for it.
const compactPage = 1000

// Compact removes what is not to be kept:
//
//	head.compacted moves to the newest change that is too old; what was before it can't be asked for any more
//	generations that were over by then go, and changes that no generation is of
//	contents go that no generation is to have any more: its row stays, and is Forgotten
//	requests, failures and denials go by their age
//	proposals go by the age of their end, and not before the change that one became
//
// It works in short transactions, and may end at any of them: the next one goes on.
func (s *Store) Compact(ctx context.Context, k Retention) error {
	if k.Age <= 0 {
		k.Age = defaultAge
	}
	if k.Generations <= 0 {
		k.Generations = defaultGenerations
	}
	if k.Secrets <= 0 {
		k.Secrets = defaultSecrets
	}
	return s.runCompaction(ctx, &compaction{store: s, retention: k})
}

func (s *Store) runCompaction(ctx context.Context, c *compaction) error {
	for _, step := range []func(context.Context) error{c.moveHead, c.dropOldGenerations, c.dropOldChanges,
		c.dropExcessGenerations,
		c.dropUnusedContents, c.dropExpired, c.dropOldDenials, c.dropOldProposals} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("compact the ledger: %w", err)
		}
	}
	return nil
}

type compaction struct {
	store     *Store
	retention Retention
	cutoff    int64 // time; older is too old; 0: by keep.Age
	compacted int64 // head's
}

// withHeadLocked runs a transaction that no commit runs beside.
func (c *compaction) withHeadLocked(ctx context.Context, do func(tx, headRow) error) error {
	return c.store.runWrite(ctx, func(t tx) error {
		h, err := readHead(t, true)
		if err != nil {
			return err
		}
		return do(t, h)
	})
}

// moveHead finds the newest change that is too old. Reads at it stay right; its digest is where Verify begins.
func (c *compaction) moveHead(ctx context.Context) error {
	return c.withHeadLocked(ctx, func(t tx, h headRow) error {
		if c.compacted = h.compacted; c.cutoff == 0 {
			c.cutoff = h.now - c.retention.Age.Microseconds()
		}
		var number sql.NullInt64
		err := t.queryRow("SELECT max(number) FROM changes WHERE at < $1", c.cutoff).Scan(&number)
		if err != nil || number.Int64 <= h.compacted {
			return err
		}
		c.compacted = number.Int64
		_, err = t.exec(`UPDATE head SET compacted = $1, checkpoint = (SELECT digest FROM changes WHERE number = $1)
			WHERE id = 1`, c.compacted)
		return err
	})
}

// notInUse tells of a generation g of object o that it is not current, applied or live.
const notInUse = `g.generation < o.generation
	AND NOT EXISTS (SELECT 1 FROM applied a WHERE a.object = g.object AND a.generation = g.generation)
	AND NOT EXISTS (SELECT 1 FROM live l WHERE l.object = g.object AND l.generation = g.generation)`

// dropOldGenerations removes generations that were over at the head's compacted change: reads at that change need the
// last one before it.
func (c *compaction) dropOldGenerations(ctx context.Context) error {
	change, object := int64(0), ""
	for more := true; more; {
		err := c.withHeadLocked(ctx, func(t tx, _ headRow) error {
			var page rowTable
			var lastChange int64
			var lastObject string
			err := t.queryRows(func(rows *sql.Rows) error {
				var generation int64
				err := rows.Scan(&lastChange, &lastObject, &generation)
				page = append(page, []any{lastObject, generation})
				return err
			}, `SELECT change, object, generation FROM generations WHERE (change, object) > ($1, $2) AND change < $3
				ORDER BY change, object LIMIT $4`, change, object, c.compacted, compactPage)
			if more = len(page) == compactPage; err != nil || len(page) == 0 {
				return err
			}
			_, err = t.exec(`DELETE FROM generations WHERE (object, generation) IN (
				SELECT g.object, g.generation FROM {rows $1}
				JOIN generations g ON g.object = r.value->>0 AND g.generation = CAST(r.value->>1 AS bigint)
				JOIN objects o ON o.id = g.object WHERE `+notInUse+` AND EXISTS (SELECT 1 FROM generations n
				WHERE n.object = g.object AND n.generation > g.generation AND n.change <= $2))`, page.toJSON(), c.compacted)
			change, object = lastChange, lastObject
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropOldChanges removes changes from before the compacted one that no generation belongs to. The others tell who made
// the generations that are kept.
func (c *compaction) dropOldChanges(ctx context.Context) error {
	return c.deleteByPage(ctx, `SELECT number FROM changes WHERE number > $1 AND number < $3 ORDER BY number LIMIT $2`,
		int64(0),
		[]any{c.compacted}, `DELETE FROM changes WHERE number IN (SELECT CAST(r.value->>0 AS bigint) FROM {rows $1})
		AND NOT EXISTS (SELECT 1 FROM generations g WHERE g.change = changes.number)`)
}

// dropExcessGenerations marks generations that are not to keep a content, beyond the newest of each object: page by
// page of the objects, and of a page some generations at a time.
func (c *compaction) dropExcessGenerations(ctx context.Context) error {
	after, last := "", ""
	for more := true; more; {
		err := c.withHeadLocked(ctx, func(t tx, _ headRow) error {
			var id sql.NullString
			err := t.queryRow(`SELECT max(id) FROM (SELECT id FROM objects WHERE id > $1 ORDER BY id LIMIT $2) AS p`, after,
				compactPage).Scan(&id)
			if last, more = id.String, id.Valid; err != nil || !more {
				return err
			}
			marked, err := t.exec(`UPDATE generations SET kept = 0 WHERE (object, generation) IN (
				SELECT g.object, g.generation FROM objects o JOIN generations g ON g.object = o.id
				AND g.generation <= o.generation - CASE WHEN o.kind = 'Secret' AND o.grp = '' THEN CAST($1 AS bigint)
				ELSE CAST($2 AS bigint) END
				WHERE g.kept = 1 AND o.id > $5 AND o.id <= $6 AND o.generation > CAST($3 AS bigint)
				AND `+notInUse+` LIMIT $4)`,
				c.retention.Secrets, c.retention.Generations, min(c.retention.Secrets, c.retention.Generations), compactPage, after,
				last)
			if marked == compactPage {
				last = after // there may be more of them
			}
			return err
		})
		if err != nil {
			return err
		}
		after = last
	}
	return nil
}

// dropUnusedContents removes contents that no generation keeps.
func (c *compaction) dropUnusedContents(ctx context.Context) error {
	return c.deleteByPage(ctx, `SELECT hash FROM contents WHERE hash > $1 ORDER BY hash LIMIT $2`, "", nil,
		`DELETE FROM contents WHERE hash IN ({list $1})
		AND NOT EXISTS (SELECT 1 FROM generations g WHERE g.hash = contents.hash AND g.kept = 1)`)
}

// deleteByPage runs a statement over the keys that another one lists, some at a time; $1 is the last key of the page
// before.
func (c *compaction) deleteByPage(ctx context.Context, list string, first any, args []any, statement string) error {
	after := first
	for more := true; more; {
		err := c.withHeadLocked(ctx, func(t tx, _ headRow) error {
			var page rowTable
			err := t.queryRows(func(rows *sql.Rows) error {
				var key any
				err := rows.Scan(&key)
				page = append(page, []any{key})
				return err
			}, list, append([]any{after, compactPage}, args...)...)
			if more = len(page) == compactPage; err != nil || len(page) == 0 {
				return err
			}
			_, err = t.exec(statement, page.toJSON())
			after = page[len(page)-1][0]
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropExpired removes what has a time of its own.
func (c *compaction) dropExpired(ctx context.Context) error {
	for _, statement := range []string{
		`DELETE FROM requests WHERE (author, request) IN (SELECT author, request FROM requests WHERE at < $1 LIMIT $2)`,
		`DELETE FROM attempts WHERE (object, generation, cluster, gateway, code) IN (
			SELECT object, generation, cluster, gateway, code FROM attempts WHERE at < $1 LIMIT $2)`,
	} {
		for removed := int64(compactPage); removed == compactPage; {
			err := c.withHeadLocked(ctx, func(t tx, _ headRow) (err error) {
				removed, err = t.exec(statement, c.cutoff, compactPage)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// dropOldDenials removes denials by their age; the digest of the last one is where Verify begins.
func (c *compaction) dropOldDenials(ctx context.Context) error {
	for removed := int64(compactPage); removed == compactPage; {
		err := c.withHeadLocked(ctx, func(t tx, _ headRow) error {
			var number sql.NullInt64
			err := t.queryRow(`SELECT max(number) FROM (SELECT number FROM denials WHERE at < $1 ORDER BY number LIMIT $2) AS d`,
				c.cutoff, compactPage).Scan(&number)
			if removed = 0; err != nil || !number.Valid {
				return err
			}
			removed = compactPage // or fewer: then the next page is empty
			return dropDenials(t, number.Int64)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
