package store

import (
	"context"
	"fmt"
	"iter"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// watchPage is how many changes a watch reads at once.
const watchPage = 100

// How often a watch looks by itself. Hints may be lost; a file has none that is sure.
const (
	pollFile   = time.Second
	pollServer = 5 * time.Second
)

// Watch yields the changes after a number.
func (s *Store) Watch(ctx context.Context, from int64) iter.Seq2[ledger.Change, error] {
	return func(yield func(ledger.Change, error) bool) {
		s.listen.Do(s.startListening)
		poll := pollFile
		if s.dialect.name == "postgres" {
			poll = pollServer
		}
		w := watchPosition{store: s, last: from}
		for {
			hint := s.hints.nextHint()
			list, err := w.readNext(ctx)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				if s.closing.Err() != nil { // the database was closed while it was read
					err = errClosed()
				}
				yield(ledger.Change{}, err)
				return
			}
			for _, c := range list {
				if !yield(c, nil) {
					return
				}
				w.last = c.Number
			}
			if len(list) > 0 {
				continue
			}
			select {
			case <-ctx.Done():
				return
			case <-s.closing.Done():
				yield(ledger.Change{}, errClosed())
				return
			case <-hint:
			case <-time.After(poll):
			}
		}
	}
}

// watchPosition is where a watch is.
type watchPosition struct {
	store *Store
	last  int64
	epoch string
}

// readNext reads some changes after the last one; none: there are none yet.
func (w *watchPosition) readNext(ctx context.Context) (list []ledger.Change, err error) {
	err = w.store.runRead(ctx, func(t tx) error {
		h, err := readHead(t, false)
		if err != nil {
			return err
		}
		if w.epoch == "" {
			w.epoch = h.epoch
		}
		switch {
		case w.last > h.change:
			return &ledger.Error{Code: ledger.Conflict, Fix: "read everything again",
				Message: fmt.Sprintf("the newest change is %d, %d was seen: the ledger was restored from an older backup", h.change,
					w.last)}
		case w.epoch != h.epoch:
			return &ledger.Error{Code: ledger.Conflict, Message: "the ledger was restored: its numbers mean other changes now",
				Fix: "read everything again"}
		case w.last < h.compacted:
			return compactedError(w.last, h.compacted)
		case w.last == h.change:
			return nil
		}
		list, _, err = readChanges(t, "WHERE c.number > $1 ORDER BY c.number LIMIT $2", w.last, watchPage)
		return err
	})
	return list, err
}
