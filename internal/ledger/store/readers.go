package store

import (
	"context"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// forgottenAfter is when a Cardea that died is not named any more.
const forgottenAfter = 24 * time.Hour

// RecordReader takes that a Cardea reads a target. It costs one row, but for the first time of an instance.
func (s *Store) RecordReader(ctx context.Context, r ledger.Reading) (holder ledger.Reading, err error) {
	r.Name, r.Instance, r.Target = cleanText(r.Name), cleanText(r.Instance), cleanText(r.Target)
	err = s.runWrite(ctx, func(t tx) error {
		now, err := readClock(t)
		if err != nil {
			return err
		}
		holder = r
		holder.Seen = fromMicros(now)
		n, err := t.exec(`UPDATE readers SET seen = $4 WHERE target = $1 AND name = $2 AND instance = $3`, r.Target, r.Name,
			r.Instance, now)
		if err != nil || n > 0 {
			return err
		}
		if _, err := t.exec(`DELETE FROM readers WHERE seen < $1`, now-forgottenAfter.Microseconds()); err != nil {
			return err
		}
		n, err = t.exec(`INSERT INTO readers (target, name, instance, seen) VALUES ($1, $2, $3, $4)
			ON CONFLICT (target, name) DO UPDATE SET instance = excluded.instance, seen = excluded.seen
			WHERE readers.seen < $5`, r.Target, r.Name, r.Instance, now, now-ledger.NameKept.Microseconds())
		if err != nil || n > 0 {
			return err
		}
		var seen int64
		err = t.queryRow(`SELECT instance, seen FROM readers WHERE target = $1 AND name = $2`, r.Target, r.Name).
			Scan(&holder.Instance, &seen)
		holder.Seen = fromMicros(seen)
		return err
	})
	return holder, err
}

// RemoveReader takes that a Cardea does not read a target any more.
func (s *Store) RemoveReader(ctx context.Context, r ledger.Reading) error {
	return s.runWrite(ctx, func(t tx) error {
		if _, err := readClock(t); err != nil {
			return err
		}
		_, err := t.exec(`DELETE FROM readers WHERE target = $1 AND name = $2 AND instance = $3`, cleanText(r.Target),
			cleanText(r.Name), cleanText(r.Instance))
		return err
	})
}
