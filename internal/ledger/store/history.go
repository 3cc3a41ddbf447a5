package store

import (
	"context"
	"database/sql"

	"cardea.dev/cardea/internal/core/ledger"
)

// History lists the generations of an object, the newest first.
func (s *Store) History(ctx context.Context, key ledger.Key, q ledger.Page) ([]ledger.Object, error) {
	var list []objectRow
	err := s.runRead(ctx, func(t tx) error {
		list = nil
		if _, err := readClock(t); err != nil {
			return err
		}
		return t.queryRows(func(rows *sql.Rows) error {
			o, err := scanObject(rows)
			list = append(list, o)
			return err
		}, "SELECT "+objectColumns+withoutBody+" FROM {rows $1} JOIN objects o ON "+sameKey+
			` JOIN generations g ON g.object = o.id LEFT JOIN changes c ON c.number = g.change
			LEFT JOIN contents k ON k.hash = g.hash AND g.hash <> ''
			WHERE (CAST($2 AS bigint) = 0 OR g.generation < $2) ORDER BY g.generation DESC LIMIT $3`,
			keyTable([]ledger.Key{key}).toJSON(), q.After, pageSize(q.Limit))
	})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 && q.After == 0 {
		return nil, notFound(key)
	}
	history := s.openObjects(list)
	if len(history) == 0 {
		return nil, nil
	}
	return history, s.fillHistory(ctx, history)
}

// fillHistory adds to generations of an object what went wrong with them.
func (s *Store) fillHistory(ctx context.Context, history []ledger.Object) error {
	newest, oldest := history[0], history[len(history)-1]
	return s.runRead(ctx, func(t tx) error {
		for i := range history {
			history[i].Failures = nil
		}
		return t.queryRows(func(rows *sql.Rows) error {
			var generation, at int64
			var f ledger.Failed
			err := rows.Scan(&generation, &f.Cluster, &f.Gateway, &f.Code, &f.Message, &f.Times, &at)
			f.At = fromMicros(at)
			for i := range history {
				if history[i].Generation == generation {
					history[i].Failures = append(history[i].Failures, f)
				}
			}
			return err
		}, `SELECT generation, cluster, gateway, code, message, times, at FROM attempts
			WHERE object = $1 AND generation BETWEEN $2 AND $3 ORDER BY at, cluster, gateway, code`,
			newest.ID, oldest.Generation, newest.Generation)
	})
}
