package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"

	"cardea.dev/cardea/internal/core/ledger"
)

// logRegistryEdit adds to the registry's log that somebody set an object of it to a value, or deleted it (nil). It
// locks head. Entries are kept for ever: there are few such edits, and people ask years later who let whom do what.
func logRegistryEdit(t tx, by, object string, value any) error {
	e := ledger.RegistryEntry{By: cleanText(by), Object: object}
	if value != nil {
		e.Value = json.RawMessage(encodeJSON(value))
	}
	var before string
	var now int64
	var n requirements
	err := t.queryRow(
		`SELECT registry_entry + 1, registry_digest, {now}, needs, needs_program FROM head WHERE id = 1 {lock}`).
		Scan(&e.Number, &before, &now, &n.migration, &n.program)
	if err == nil {
		err = n.checkVersion(t.dialect.newestMigration)
	}
	if err != nil {
		return err
	}
	e.At = fromMicros(now)
	e.Digest = chainEntry(before, e)
	_, err = t.exec(`INSERT INTO registry_log (number, at, by_whom, object, value, digest)
		VALUES ($1, $2, $3, $4, $5, $6)`, e.Number, now, e.By, e.Object, string(e.Value), e.Digest)
	if err != nil {
		return err
	}
	_, err = t.exec(`UPDATE head SET registry_entry = $1, registry_digest = $2 WHERE id = 1`, e.Number, e.Digest)
	return err
}

// chainEntry is the digest of an entry: of the one before, and of all of this one.
func chainEntry(before string, e ledger.RegistryEntry) string {
	e.Digest = ""
	sum := sha256.Sum256([]byte(before + "\n" + encodeJSON(e)))
	return hex.EncodeToString(sum[:])
}

// RegistryLog lists who edited the registry, the newest first.
func (s *Store) RegistryLog(ctx context.Context, q ledger.Page) (list []ledger.RegistryEntry, err error) {
	err = s.runRead(ctx, func(t tx) error {
		list = nil
		if _, err := readClock(t); err != nil {
			return err
		}
		return t.queryRows(func(rows *sql.Rows) error {
			e, err := scanEntry(rows)
			list = append(list, e)
			return err
		}, `SELECT number, at, by_whom, object, value, digest FROM registry_log
			WHERE (CAST($1 AS bigint) = 0 OR number < $1) ORDER BY number DESC LIMIT $2`, q.After, pageSize(q.Limit))
	})
	return list, err
}

func scanEntry(rows *sql.Rows) (e ledger.RegistryEntry, err error) {
	var at int64
	var value string
	err = rows.Scan(&e.Number, &at, &e.By, &e.Object, &value, &e.Digest)
	if e.At = fromMicros(at); value != "" {
		e.Value = json.RawMessage(value)
	}
	return e, err
}

// verifyRegistry follows the chain of the registry's log.
func (v *verifier) verifyRegistry(ctx context.Context) error {
	last, digest := int64(0), ""
	for more := true; more; {
		err := v.store.runRead(ctx, func(t tx) error {
			var newest int64
			var end string
			err := t.queryRow("SELECT registry_entry, registry_digest FROM head").Scan(&newest, &end)
			if err != nil {
				return err
			}
			n := 0
			err = t.queryRows(func(rows *sql.Rows) error {
				e, err := scanEntry(rows)
				n++
				if e.Number != last+1 || !json.Valid(e.Value) && e.Value != nil || chainEntry(digest, e) != e.Digest {
					v.reportWrong("entry %d of the registry's log was changed after it was written, or an earlier entry was", e.Number)
				}
				v.Registry, last, digest = v.Registry+1, e.Number, e.Digest
				return err
			}, `SELECT number, at, by_whom, object, value, digest FROM registry_log WHERE number > $1
				ORDER BY number LIMIT $2`, last, verifyPage)
			if more = n == verifyPage; !more && (last != newest || digest != end) {
				v.reportWrong("the newest entry of the registry's log is %d by its row, %d by the head", last, newest)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
