package store

import (
	"context"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// forgottenAfter is when a Cardea that died is not named any more.
const forgottenAfter = 24 * time.Hour

// Reads takes that a Cardea reads a target. It costs one row, but for the first time of an instance.
func (s *Store) Reads(ctx context.Context, r ledger.Reading) (holder ledger.Reading, err error) {
	r.Name, r.Instance, r.Target = clean(r.Name), clean(r.Instance), clean(r.Target)
	err = s.change(ctx, func(t tx) error {
		now, err := clock(t)
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
		err = t.row(`SELECT instance, seen FROM readers WHERE target = $1 AND name = $2`, r.Target, r.Name).
			Scan(&holder.Instance, &seen)
		holder.Seen = fromMicros(seen)
		return err
	})
	return holder, err
}

// Leaves takes that a Cardea does not read a target any more.
func (s *Store) Leaves(ctx context.Context, r ledger.Reading) error {
	return s.change(ctx, func(t tx) error {
		if _, err := clock(t); err != nil {
			return err
		}
		_, err := t.exec(`DELETE FROM readers WHERE target = $1 AND name = $2 AND instance = $3`, clean(r.Target),
			clean(r.Name), clean(r.Instance))
		return err
	})
}
