package store

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"cardea.dev/cardea/internal/core/ledger"
)

// standings loads what the drafts' objects are, in at most three statements.
func (b *batch) standings(t tx) (map[ledger.Key]*ledger.Standing, error) {
	objects := map[ledger.Key]*ledger.Standing{}
	byID := map[string]*ledger.Standing{}
	var asked table
	for _, p := range b.drafts {
		for _, e := range p.edits {
			if objects[e.Key] == nil {
				objects[e.Key] = &ledger.Standing{}
				asked = append(asked, keyRow(e.Key))
			}
		}
	}
	err := t.each(func(rows *sql.Rows) error {
		var k ledger.Key
		o := &ledger.Standing{}
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
		FROM {rows $1} JOIN objects o ON `+sameKey, asked.json())
	if err != nil {
		return nil, err
	}
	return objects, b.revisions(t, objects, byID)
}

// sameKey joins objects by rows that keyRow made.
const sameKey = `o.target = r.value->>0 AND o.namespace = r.value->>1 AND o.kind = r.value->>2 AND o.grp = r.value->>3
	AND o.name = r.value->>4`

func keyRow(k ledger.Key) []any { return []any{k.Target, k.Namespace, k.Kind, k.Group, k.Name} }

// revisions loads those revisions that the drafts may go back to. A subquery for each makes sure that the databases
// look each one up, however many there are.
func (b *batch) revisions(t tx, objects map[ledger.Key]*ledger.Standing, byID map[string]*ledger.Standing) error {
	var hashes, numbers table
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
		err := t.each(add, `SELECT r.value->>0, r.value->>1, (SELECT max(g.revision) FROM generations g
			WHERE g.hash = r.value->>1 AND g.object = r.value->>0 AND g.kept = 1) FROM {rows $1}`, hashes.json())
		if err != nil {
			return err
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	return t.each(add, `SELECT r.value->>0, (SELECT max(g.hash) FROM generations g WHERE g.object = r.value->>0
		AND g.revision = CAST(r.value->>1 AS bigint) AND g.kept + 0 = 1), CAST(r.value->>1 AS bigint) FROM {rows $1}`,
		numbers.json())
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
