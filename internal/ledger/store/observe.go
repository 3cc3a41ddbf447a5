package store

import (
	"context"

	"cardea.dev/cardea/internal/core/ledger"
)

// Observe takes what is seen in a cluster. Objects that the ledger does not know, or that the cluster does not serve,
// are left out: a correction would hand the content to the cluster's worker.
func (s *Store) Observe(ctx context.Context, cluster string, list []ledger.Observation) error {
	if len(list) == 0 {
		return nil
	}
	var gone []string
	var seen, correct rowTable
	last := make(map[string]int, len(list)) // a statement must not write a row twice
	for i, o := range list {
		last[o.Object] = i
	}
	for i, o := range list {
		if last[o.Object] != i {
			continue
		}
		if o.Gone {
			gone = append(gone, o.Object)
		} else {
			seen = append(seen, []any{o.Object, o.UID, o.ResourceVersion, o.Generation, o.Result, cleanText(o.Drift),
				cleanText(o.By)})
		}
		if o.Correct {
			correct = append(correct, []any{o.Object, int64(max(o.After, 0)) * 1e6})
		}
	}
	return s.runWrite(ctx, func(t tx) error {
		h, err := readHead(t, false)
		if err != nil {
			return err
		}
		r, err := s.registry.readAt(t, h.registry)
		if err != nil {
			return err
		}
		args := []any{h.now, columnTable(r.servedBy(cluster)).toJSON()}
		for _, object := range gone {
			_, err := t.exec(`DELETE FROM observed WHERE object = $1 AND cluster = $2`, object, cluster)
			if err != nil {
				return err
			}
		}
		for _, part := range []struct {
			rows      rowTable
			statement string
			args      []any
		}{{seen, upsertObserved, args}, {correct, upsertCorrections, args}} {
			if len(part.rows) > 0 {
				_, err := t.exec(part.statement, append([]any{cluster, part.rows.toJSON()}, part.args...)...)
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

const (
	// The result of a Secret is left out: nobody reads it again, and likely values could be tried out with it.
	upsertObserved = `INSERT INTO observed (object, cluster, uid, resource_version, generation, result, drift, by_whom, at)
		SELECT o.id, CAST($1 AS text), r.value->>1, r.value->>2, CAST(r.value->>3 AS bigint),
		CASE WHEN o.kind = 'Secret' AND o.grp = '' THEN '' ELSE r.value->>4 END, r.value->>5, r.value->>6,
		CAST($3 AS bigint) FROM {rows $2} JOIN objects o ON o.id = r.value->>0 WHERE o.target IN ({list $4})
		ON CONFLICT (object, cluster) DO UPDATE SET uid = excluded.uid, resource_version = excluded.resource_version,
		generation = excluded.generation, result = excluded.result, drift = excluded.drift, by_whom = excluded.by_whom,
		at = excluded.at`
	// An object that is being applied may be corrected by that: it is due again afterwards. An object that failed keeps
	// its time: a correction is no reason to retry faster.
	upsertCorrections = `INSERT INTO work (cluster, object, target, generation, change, rank, due)
		SELECT CAST($1 AS text), o.id, o.target, o.generation, o.change, o.rank,
		CAST($3 AS bigint) + CAST(r.value->>1 AS bigint) FROM {rows $2} JOIN objects o ON o.id = r.value->>0
		WHERE o.target IN ({list $4})
		ON CONFLICT (cluster, object) DO UPDATE SET again = excluded.due WHERE work.lease IS NOT NULL`
)
