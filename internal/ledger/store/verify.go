package store

import (
	"context"
	"database/sql"
	"fmt"

	"cardea.dev/cardea/internal/core/ledger"
)

// mostWrong is how many sentences a verification has at most.
const mostWrong = 100

// verifyPage is how many rows a verification reads at once: its transactions are short.
const verifyPage = 500

// verifier is one verification.
type verifier struct {
	ledger.Verification
	store *Store
}

// Verify computes all digests anew, and looks whether the tables agree. It finds rows that something else than a ledger
// wrote. Somebody who can write to the database can compute digests, too, so compare Digest with one that is noted
// elsewhere.
func (s *Store) Verify(ctx context.Context) (ledger.Verification, error) {
	v := verifier{store: s}
	for _, step := range []func(context.Context) error{v.verifyChanges, v.verifyContents, v.verifyDenials,
		v.verifyRegistry, v.verifyObjects} {
		if err := step(ctx); err != nil {
			return v.Verification, err
		}
	}
	return v.Verification, nil
}

func (v *verifier) reportWrong(format string, args ...any) {
	if len(v.Wrong) < mostWrong {
		v.Wrong = append(v.Wrong, fmt.Sprintf(format, args...))
	}
}

// verifyChanges follows the chain from the oldest change that is kept whole to the one that is the newest now.
func (v *verifier) verifyChanges(ctx context.Context) error {
	last, until := int64(-1), int64(0)
	for more := true; more; {
		err := v.store.runRead(ctx, func(t tx) error {
			h, err := readHead(t, false)
			if err != nil {
				return err
			}
			if last < h.compacted { // at the beginning, or it was compacted meanwhile
				last, v.Digest = h.compacted, h.checkpoint
			}
			if until == 0 {
				until = h.change
			}
			list, cut, err := readChanges(t, "WHERE c.number > $1 ORDER BY c.number LIMIT $2", last, verifyPage)
			if err != nil {
				return err
			}
			for _, c := range list {
				for last++; last < c.Number; last++ {
					v.reportWrong("change %d is missing", last)
				}
				if ledger.ChainDigest(v.Digest, c) != c.Digest {
					v.reportWrong("change %d was changed after it was written, or an earlier entry was", c.Number)
				}
				v.Changes, v.Digest = v.Changes+1, c.Digest
			}
			more = (cut || len(list) == verifyPage) && last < until
			if !more && last >= h.change && v.Digest != h.digest || !more && last < until {
				v.reportWrong("the newest change is %d by its row, %d by the head", last, h.change)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// verifyContents computes the hashes of all contents.
func (v *verifier) verifyContents(ctx context.Context) error {
	type row struct {
		hash, keyID string
		body        []byte
	}
	after, closed := "", 0
	for {
		var list []row
		err := v.store.runRead(ctx, func(t tx) error {
			list = nil
			return t.queryRows(func(rows *sql.Rows) error {
				var r row
				err := rows.Scan(&r.hash, &r.keyID, &r.body)
				list = append(list, r)
				return err
			}, "SELECT hash, key_id, body FROM contents WHERE hash > $1 ORDER BY hash LIMIT $2", after, verifyPage)
		})
		if err != nil {
			return err
		}
		for _, r := range list {
			v.Contents++
			after = r.hash
			err := v.verifyContent(ctx, r.keyID, r.hash, r.body)
			if ledger.CodeOf(err) == ledger.Unprotected { // it says nothing about the content
				closed++
				v.Unchecked = fmt.Sprintf("%d contents of Secrets: %v", closed, err)
			} else if err != nil {
				v.reportWrong("content %.12s: %v", r.hash, err)
			}
		}
		if len(list) < verifyPage {
			return nil
		}
	}
}

func (v *verifier) verifyContent(ctx context.Context, keyID, hash string, body []byte) error {
	text, err := v.store.openContent(keyID, hash, body)
	if err != nil {
		return err
	}
	is := text.Hash()
	if keyID != "" {
		key, err := v.store.hashKey(ctx)
		if err != nil {
			return err
		}
		is = hashSecret(key, text)
	}
	if is != hash {
		return fmt.Errorf("was changed after it was written")
	}
	return nil
}

// verifyDenials follows their chain.
func (v *verifier) verifyDenials(ctx context.Context) error {
	last, digest := int64(-1), ""
	for more := true; more; {
		err := v.store.runRead(ctx, func(t tx) error {
			var compacted, newest int64
			var checkpoint, end string
			err := t.queryRow("SELECT denial_compacted, denial_checkpoint, denial, denial_digest FROM head").Scan(&compacted,
				&checkpoint, &newest, &end)
			if err != nil {
				return err
			}
			if last < compacted {
				last, digest = compacted, checkpoint
			}
			n := 0
			err = t.queryRows(func(rows *sql.Rows) error {
				d, err := scanDenial(rows)
				n++
				if d.Number != last+1 || chainDenial(digest, d) != d.Digest {
					v.reportWrong("denial %d was changed after it was written, or an earlier entry was", d.Number)
				}
				v.Denials, last, digest = v.Denials+1, d.Number, d.Digest
				return err
			}, `SELECT number, at, subject, permission, object, request, missed, digest FROM denials WHERE number > $1
				ORDER BY number LIMIT $2`, last, verifyPage)
			if more = n == verifyPage; !more && (last != newest || digest != end) {
				v.reportWrong("the newest denial is %d by its row, %d by the head", last, newest)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// verifyObjects looks whether objects are their newest generations, and generations have their change and their
// content.
func (v *verifier) verifyObjects(ctx context.Context) error {
	return v.store.runRead(ctx, func(t tx) error {
		for _, check := range []struct{ what, statement string }{
			{"differs from its newest generation", `SELECT o.id, o.kind, o.namespace, o.name FROM objects o
				LEFT JOIN generations g ON g.object = o.id AND g.generation = o.generation
				WHERE g.object IS NULL OR g.revision <> o.revision OR g.hash <> o.hash OR g.change <> o.change
				OR EXISTS (SELECT 1 FROM generations n WHERE n.object = o.id AND n.generation > o.generation) LIMIT 100`},
			{"has a generation with a change that is missing", `SELECT o.id, o.kind, o.namespace, o.name
				FROM generations g JOIN objects o ON o.id = g.object LEFT JOIN changes c ON c.number = g.change
				WHERE c.number IS NULL LIMIT 100`},
			{"has a generation with a content that is missing", `SELECT o.id, o.kind, o.namespace, o.name
				FROM generations g JOIN objects o ON o.id = g.object LEFT JOIN contents k ON k.hash = g.hash
				WHERE g.kept = 1 AND g.hash <> '' AND k.hash IS NULL LIMIT 100`},
		} {
			err := t.queryRows(func(rows *sql.Rows) error {
				var id, kind, namespace, name string
				err := rows.Scan(&id, &kind, &namespace, &name)
				v.reportWrong("%s %s (%s) %s", kind, namespace+"/"+name, id, check.what)
				return err
			}, check.statement)
			if err != nil {
				return err
			}
		}
		return nil
	})
}
