package ledgerfeed

import (
	"context"
	"iter"

	"cardea.dev/cardea/internal/core/ledger"
)

// maxBatch is how many changes are taken together.
const maxBatch = 100

// batchChanges yields changes as they are watched: those that are there already together, as far as no object is edited
// twice. So what they edited is read at once, as it was after the last of them: it was so after its own change, too. An
// error is the last thing that it yields.
func batchChanges(ctx context.Context, r ledger.Reader, from int64) iter.Seq2[[]ledger.Change, error] {
	type item struct {
		change ledger.Change
		err    error
	}
	return func(yield func([]ledger.Change, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		come := make(chan item, maxBatch)
		defer func() {
			cancel()
			for range come { // until the watch has ended
			}
		}()
		go func() {
			defer close(come)
			for change, err := range r.Watch(ctx, from) {
				select {
				case come <- item{change, err}:
				case <-ctx.Done():
					return
				}
			}
		}()
		var list []ledger.Change
		edited := map[ledger.Key]bool{}
		give := func() bool {
			given := list
			list = nil
			clear(edited)
			return len(given) == 0 || yield(given, nil)
		}
		for next := range come {
			if (next.err != nil || mustSplit(edited, next.change)) && !give() {
				return
			}
			if next.err != nil {
				yield(nil, next.err)
				return
			}
			list = append(list, next.change)
			for _, e := range next.change.Edited {
				edited[e.Key] = true
			}
			if (len(come) == 0 || len(list) == maxBatch) && !give() {
				return
			}
		}
		give()
	}
}

// mustSplit tells whether a change edits what was edited, or is too much to be taken together with it.
func mustSplit(edited map[ledger.Key]bool, c ledger.Change) bool {
	for _, e := range c.Edited {
		if edited[e.Key] {
			return true
		}
	}
	return len(edited)+len(c.Edited) > ledger.MaxEdits
}
