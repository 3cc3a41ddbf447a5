package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"

	"cardea.dev/cardea/internal/core/ledger"
)

// Deny notes that somebody was not let do something.
func (s *Store) Deny(ctx context.Context, d ledger.Denial) error {
	d.Subject, d.Object, d.Request = cleanText(d.Subject), cleanText(d.Object), cleanText(d.Request)
	d.Permission = ledger.Permission(cleanText(string(d.Permission)))
	return s.runWrite(ctx, func(t tx) error {
		h, err := readHead(t, true)
		if err != nil {
			return err
		}
		d.Number, d.At = h.denial+1, fromMicros(h.now)
		d.Digest = chainDenial(h.denialDigest, d)
		_, err = t.exec(`INSERT INTO denials (number, at, subject, permission, object, request, missed, digest)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, d.Number, h.now, d.Subject, d.Permission, d.Object, d.Request, d.Missed,
			d.Digest)
		if err != nil {
			return err
		}
		_, err = t.exec(`UPDATE head SET denial = $1, denial_digest = $2 WHERE id = 1`, d.Number, d.Digest)
		if err == nil && d.Number > s.mostDenials {
			err = dropDenials(t, d.Number-s.mostDenials)
		}
		return err
	})
}

// mostDenials is how many denials are kept: the newest ones.
const mostDenials = 100_000

// dropDenials removes denials up to one; the digest of that one is where Verify begins.
func dropDenials(t tx, last int64) error {
	n, err := t.exec(`UPDATE head SET denial_checkpoint = (SELECT digest FROM denials WHERE number = $1),
		denial_compacted = $1 WHERE id = 1 AND denial_compacted < $1`, last)
	if err != nil || n == 0 {
		return err
	}
	_, err = t.exec(`DELETE FROM denials WHERE number <= $1`, last)
	return err
}

// chainDenial is the digest of a denial: of the one before, and of all of this one.
func chainDenial(before string, d ledger.Denial) string {
	d.Digest = ""
	sum := sha256.Sum256([]byte(before + "\n" + encodeJSON(d)))
	return hex.EncodeToString(sum[:])
}

// Denials lists denials, the newest first.
func (s *Store) Denials(ctx context.Context, q ledger.Page) (list []ledger.Denial, err error) {
	err = s.runRead(ctx, func(t tx) error {
		list = nil
		return t.queryRows(func(rows *sql.Rows) error {
			d, err := scanDenial(rows)
			list = append(list, d)
			return err
		}, `SELECT number, at, subject, permission, object, request, missed, digest FROM denials
			WHERE (CAST($1 AS bigint) = 0 OR number < $1) ORDER BY number DESC LIMIT $2`, q.After, pageSize(q.Limit))
	})
	return list, err
}

func scanDenial(rows *sql.Rows) (d ledger.Denial, err error) {
	var at int64
	err = rows.Scan(&d.Number, &at, &d.Subject, &d.Permission, &d.Object, &d.Request, &d.Missed, &d.Digest)
	d.At = fromMicros(at)
	return d, err
}
