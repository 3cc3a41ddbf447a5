package store

import (
	"context"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/ledger"
)

// reportRows is what proxies said, as rows for statements: the columns of a key, and then those that a statement names.
// No statement gets one row twice.
type reportRows struct {
	live      rowSet   // cluster, gateway, refused, generation, proxies, words
	waits     rowSet   // cluster, "", 0, generation, 0, words
	refusals  rowTable // of live
	firstLive rowTable // cluster, "", 0, generation: nothing of it was refused
}

// rowSet keeps only the row of the newest generation among rows with one identity.
type rowSet struct {
	rows rowTable
	last map[string]int
}

// generationColumn is the index of the generation, after the key, the cluster, the Gateway and whether it is refused.
const generationColumn = 8

func (s *rowSet) addRow(row []any) {
	if s.last == nil {
		s.last = map[string]int{}
	}
	id := encodeJSON(row[:generationColumn])
	if i, twice := s.last[id]; !twice {
		s.last[id] = len(s.rows)
		s.rows = append(s.rows, row)
	} else if s.rows[i][generationColumn].(int64) <= row[generationColumn].(int64) {
		s.rows[i] = row
	}
}

func newReport(list []ledger.Live) (r reportRows) {
	type said struct {
		ledger.Key
		cluster    string
		generation int64
	}
	live, open := map[said]bool{}, map[said]bool{}
	for _, l := range list {
		if l.Target == "" {
			l.Target = ledger.DefaultTarget
		}
		of, refused, words := said{l.Key, cleanText(l.Cluster), l.Generation}, 0, cleanText(l.Refused)
		if l.Refused != "" {
			refused = 1
		}
		if l.Waits != "" {
			r.waits.addRow(append(keyRow(l.Key), of.cluster, "", 0, l.Generation, 0, cleanText(l.Waits)))
			open[of] = true
			continue
		}
		row := append(keyRow(l.Key), of.cluster, cleanText(l.Gateway), refused, l.Generation, l.Proxies, words)
		r.live.addRow(row)
		if live[of] = true; refused == 1 {
			r.refusals = append(r.refusals, row)
			open[of] = true
		}
	}
	for of := range live {
		if !open[of] {
			r.firstLive = append(r.firstLive, append(keyRow(of.Key), of.cluster, "", 0, of.generation))
		}
	}
	// Two Cardeas that say the same at once lock its rows in one order.
	slices.SortFunc(r.firstLive, func(a, b []any) int { return strings.Compare(encodeJSON(a), encodeJSON(b)) })
	return r
}

// ReportAnswers takes what proxies said. Rows about a later generation stay.
func (s *Store) ReportAnswers(ctx context.Context, list []ledger.Live) error {
	if len(list) == 0 {
		return nil
	}
	r := newReport(list)
	return s.runWrite(ctx, func(t tx) error {
		now, err := readClock(t)
		if err != nil {
			return err
		}
		for _, part := range []struct {
			rows      rowTable
			statement string
		}{{r.live.rows, upsertLive}, {r.waits.rows, upsertWaits}, {r.firstLive, setLiveSince}} {
			if len(part.rows) > 0 {
				if _, err := t.exec(part.statement, part.rows.toJSON(), now); err != nil {
					return err
				}
			}
		}
		for _, row := range r.refusals {
			var id string
			err := t.queryRow(`SELECT coalesce(max(o.id), '') FROM {rows $1} JOIN objects o ON `+sameKey,
				rowTable{row}.toJSON()).Scan(&id)
			if err != nil {
				return err
			}
			if id != "" {
				err = logFailure(t, now, id, row[generationColumn].(int64), row[5].(string), row[6].(string), ledger.ByProxies,
					row[10].(string))
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

const (
	upsertLive = `INSERT INTO live (object, cluster, gateway, refused, generation, proxies, words, at)
	SELECT o.id, r.value->>5, r.value->>6, CAST(r.value->>7 AS smallint), CAST(r.value->>8 AS bigint),
	CAST(r.value->>9 AS bigint), r.value->>10, CAST($2 AS bigint) FROM {rows $1} JOIN objects o ON ` + sameKey + `
	WHERE true ON CONFLICT (object, cluster, gateway, refused) DO UPDATE SET generation = excluded.generation,
	proxies = excluded.proxies, words = excluded.words, at = excluded.at WHERE live.generation <= excluded.generation`
	upsertWaits = `INSERT INTO waits (object, cluster, generation, words, at)
	SELECT o.id, r.value->>5, CAST(r.value->>8 AS bigint), r.value->>10, CAST($2 AS bigint) FROM {rows $1}
	JOIN objects o ON ` + sameKey + ` WHERE true ON CONFLICT (object, cluster) DO UPDATE SET
	generation = excluded.generation, words = excluded.words, at = excluded.at
	WHERE waits.generation <= excluded.generation`
	setLiveSince = `UPDATE generations SET live_since = CAST($2 AS bigint) WHERE live_since = 0 AND (object, generation) IN
	(SELECT o.id, CAST(r.value->>8 AS bigint) FROM {rows $1} JOIN objects o ON ` + sameKey + `)`
)
