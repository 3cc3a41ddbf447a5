package store

import (
	"fmt"
	"strings"

	"cardea.dev/cardea/internal/core/ledger"
)

// writeChanges writes all changes of the batch: one statement for each table. empty are drafts with a request that
// changed nothing.
func (b *batch) writeChanges(t tx, empty []batchChange) error {
	if len(b.made) == 0 && len(empty) == 0 {
		return nil
	}
	var changes, generations, requests rowTable
	objects, newest := map[ledger.Key]ledger.ObjectWrite{}, []ledger.Key{}
	at := map[ledger.Key]int64{} // the change that edited it last
	for _, m := range append(empty, b.made...) {
		c := m.Change
		if m.request != "" {
			requests = append(requests, []any{c.Author, m.request, m.draft, c.Number, b.now})
		}
		if c.Number == 0 {
			continue
		}
		changes = append(changes, []any{c.Number, b.now, c.Author, c.Via, c.Message, c.Verb, c.Of, c.Digest,
			len(c.Edited)})
		for _, w := range m.Edits {
			generations = append(generations, []any{w.ID, w.Generation, w.Revision, w.Hash, c.Number, w.BeforeRev})
			if _, seen := objects[w.Key]; !seen {
				newest = append(newest, w.Key)
			}
			objects[w.Key], at[w.Key] = w, c.Number
		}
	}
	var rows, work rowTable
	for _, k := range newest {
		w := objects[k]
		rows = append(rows, []any{w.ID, k.Target, k.Group, k.Kind, k.Namespace, k.Name, k.ApplyRank(), w.Generation,
			w.Revision,
			w.Hash, at[k], encodeHold(w.Hold), b.now})
		for _, c := range b.registry.serving[k.Target] {
			work = append(work, []any{c, w.ID, k.Target, w.Generation, at[k], workRank(k, w.Revision == 0)})
		}
	}
	list, err := b.contentStatements()
	if err != nil {
		return err
	}
	for _, part := range []struct {
		rows      rowTable
		statement string
	}{{changes, insertChanges}, {generations, insertGenerations}, {rows, upsertObjects}, {requests, insertRequests}} {
		if len(part.rows) > 0 {
			list = append(list, boundStatement{part.statement, []any{part.rows.toJSON()}})
		}
	}
	if len(work) > 0 {
		list = append(list, boundStatement{upsertWork, []any{work.toJSON(), b.now}})
	}
	if len(b.made) > 0 {
		last := b.made[len(b.made)-1].Change
		list = append(list, boundStatement{`UPDATE head SET change = $1, at = $2, digest = $3 WHERE id = 1`,
			[]any{last.Number, b.now, last.Digest}})
	}
	return t.execAll(list)
}

const (
	insertChanges = `INSERT INTO changes (number, at, author, via, message, verb, about, digest, edits)
		SELECT CAST(r.value->>0 AS bigint), CAST(r.value->>1 AS bigint), r.value->>2, r.value->>3, r.value->>4, r.value->>5,
		CAST(r.value->>6 AS bigint), r.value->>7, CAST(r.value->>8 AS bigint) FROM {rows $1}`
	insertGenerations = `INSERT INTO generations (object, generation, revision, hash, change, before_revision)
		SELECT r.value->>0, CAST(r.value->>1 AS bigint), CAST(r.value->>2 AS bigint), r.value->>3,
		CAST(r.value->>4 AS bigint), CAST(r.value->>5 AS bigint) FROM {rows $1}`
	insertRequests = `INSERT INTO requests (author, request, draft, change, at)
		SELECT r.value->>0, r.value->>1, r.value->>2, CAST(r.value->>3 AS bigint), CAST(r.value->>4 AS bigint)
		FROM {rows $1}`
	upsertObjects = `INSERT INTO objects (id, target, grp, kind, namespace, name, rank, generation, revision, hash, change,
		hold, created) SELECT r.value->>0, r.value->>1, r.value->>2, r.value->>3, r.value->>4, r.value->>5,
		CAST(r.value->>6 AS smallint), CAST(r.value->>7 AS bigint), CAST(r.value->>8 AS bigint), r.value->>9,
		CAST(r.value->>10 AS bigint), r.value->>11, CAST(r.value->>12 AS bigint) FROM {rows $1} WHERE true
		ON CONFLICT (id) DO UPDATE SET generation = excluded.generation, revision = excluded.revision, hash = excluded.hash,
		change = excluded.change, hold = excluded.hold`
	// An object that is being applied keeps its lease; it is due again when that ends, or was answered.
	upsertWork = `INSERT INTO work (cluster, object, target, generation, change, rank, due)
		SELECT r.value->>0, r.value->>1, r.value->>2, CAST(r.value->>3 AS bigint), CAST(r.value->>4 AS bigint),
		CAST(r.value->>5 AS smallint), CAST($2 AS bigint) FROM {rows $1} WHERE true
		ON CONFLICT (cluster, object) DO UPDATE SET generation = excluded.generation, change = excluded.change,
		rank = excluded.rank, due = CASE WHEN work.lease IS NULL THEN excluded.due ELSE work.due END,
		attempts = 0, failed = 0, silent = 0, again = 0`
)

// workRank orders the objects of a change in a cluster: what others refer to first; deletions last, and reversed.
func workRank(k ledger.Key, deleted bool) int {
	if deleted {
		return deletedRank - k.ApplyRank()
	}
	return k.ApplyRank()
}

// deletedRank is above twice the highest rank.
const deletedRank = 1000

// contentStatements writes the contents that are not kept yet. Their bytes are parameters, some at a time: as JSON they
// would double.
func (b *batch) contentStatements() (list []boundStatement, err error) {
	var args []any
	seen := map[string]bool{}
	for _, m := range b.made {
		for _, w := range m.Edits {
			if w.Content == nil || seen[w.Hash] {
				continue
			}
			seen[w.Hash] = true
			keyID, body, err := b.store.sealContent(w.Key, w.Hash, w.Content)
			if err != nil {
				return nil, err
			}
			args = append(args, w.Hash, keyID, body)
		}
	}
	for _, many := range []int{64, 8, 1} { // so there are three texts of the statement
		for len(args) >= 3*many {
			list = append(list, boundStatement{insertContents(many), args[:3*many]})
			args = args[3*many:]
		}
	}
	return list, nil
}

func insertContents(rows int) string {
	var text strings.Builder
	text.WriteString("INSERT INTO contents (hash, key_id, body) VALUES ")
	for i := range rows {
		if i > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "($%d, $%d, $%d)", 3*i+1, 3*i+2, 3*i+3)
	}
	return text.String() + " ON CONFLICT (hash) DO NOTHING"
}
