package store

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"cardea.dev/cardea/internal/core/ledger"
)

// loadStates loads what the drafts' objects are, in at most three statements.
func (b *batch) loadStates(t tx) (map[ledger.Key]*ledger.ObjectState, error) {
	objects := map[ledger.Key]*ledger.ObjectState{}
	byID := map[string]*ledger.ObjectState{}
	var asked rowTable
	for _, p := range b.drafts {
		for _, e := range p.edits {
			if objects[e.Key] == nil {
				objects[e.Key] = &ledger.ObjectState{}
				asked = append(asked, keyRow(e.Key))
			}
		}
	}
	err := t.queryRows(func(rows *sql.Rows) error {
		var k ledger.Key
		o := &ledger.ObjectState{}
		var hold sql.NullString
		err := rows.Scan(&k.Target, &k.Namespace, &k.Kind, &k.Group, &k.Name, &o.ID, &o.Generation, &o.Revision, &o.Hash,
			&o.Change, &hold)
		if err == nil {
			o.Hold, err = decodeHold(hold)
		}
		if o.Revision != 0 {
			o.Revisions = map[string]int64{o.Hash: o.Revision}
		}
		objects[k], byID[o.ID] = o, o
		return err
	}, `SELECT o.target, o.namespace, o.kind, o.grp, o.name, o.id, o.generation, o.revision, o.hash, o.change, o.hold
		FROM {rows $1} JOIN objects o ON `+sameKey, asked.toJSON())
	if err != nil {
		return nil, err
	}
	return objects, b.loadRevisions(t, objects, byID)
}

// sameKey joins objects by rows that keyRow made.
const sameKey = `o.target = r.value->>0 AND o.namespace = r.value->>1 AND o.kind = r.value->>2 AND o.grp = r.value->>3
	AND o.name = r.value->>4`

func keyRow(k ledger.Key) []any { return []any{k.Target, k.Namespace, k.Kind, k.Group, k.Name} }

// loadRevisions loads those revisions that the drafts may go back to. A subquery for each makes sure that the databases
// look each one up, however many there are.
func (b *batch) loadRevisions(
	t tx, objects map[ledger.Key]*ledger.ObjectState, byID map[string]*ledger.ObjectState,
) error {
	var hashes, numbers rowTable
	for _, p := range b.drafts {
		for _, e := range p.edits {
			o := objects[e.Key]
			switch {
			case o.ID == "":
			case e.Hash != "" && e.Hash != o.Hash:
				hashes = append(hashes, []any{o.ID, e.Hash})
			case e.Revision != 0 && e.Revision != o.Revision:
				numbers = append(numbers, []any{o.ID, e.Revision})
			}
		}
	}
	add := func(rows *sql.Rows) error {
		var id string
		var hash sql.NullString
		var revision sql.NullInt64
		err := rows.Scan(&id, &hash, &revision)
		if o := byID[id]; o != nil && hash.Valid && revision.Valid {
			if o.Revisions == nil {
				o.Revisions = map[string]int64{}
			}
			o.Revisions[hash.String] = max(o.Revisions[hash.String], revision.Int64)
		}
		return err
	}
	if len(hashes) > 0 {
		err := t.queryRows(add, `SELECT r.value->>0, r.value->>1, (SELECT max(g.revision) FROM generations g
			WHERE g.hash = r.value->>1 AND g.object = r.value->>0 AND g.kept = 1) FROM {rows $1}`, hashes.toJSON())
		if err != nil {
			return err
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	return t.queryRows(add, `SELECT r.value->>0, (SELECT max(g.hash) FROM generations g WHERE g.object = r.value->>0
		AND g.revision = CAST(r.value->>1 AS bigint) AND g.kept + 0 = 1), CAST(r.value->>1 AS bigint) FROM {rows $1}`,
		numbers.toJSON())
}

func decodeHold(text sql.NullString) (*ledger.Hold, error) {
	if !text.Valid {
		return nil, nil
	}
	h := &ledger.Hold{}
	if err := json.Unmarshal([]byte(text.String), h); err != nil {
		return nil, fmt.Errorf("read a hold: %w", err)
	}
	return h, nil
}

func encodeHold(h *ledger.Hold) any {
	if h == nil {
		return nil
	}
	text, err := json.Marshal(h)
	if err != nil {
		panic(err) // it consists of text and a time
	}
	return string(text)
}
