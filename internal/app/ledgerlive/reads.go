package ledgerlive

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

const (
	// claiming is the time between looks at a name that another Cardea had lately: it may have died.
	claiming = 500 * time.Millisecond
	// leaving is how long saying goodbye may take.
	leaving = 5 * time.Second
)

// read says that this Cardea reads its target, until ctx is done; end waits for that, and says that it does not any
// more. A name that another Cardea has is waited for until it is clear whether that one is alive: then that is the
// error.
func (t *Tracker) read(ctx context.Context) (end func(), err error) {
	r := ledger.Reading{Target: t.Target, Name: t.Cluster, Instance: rand.Text()}
	for first := (ledger.Reading{}); ctx.Err() == nil; pause(ctx, claiming) {
		holder, err := t.Ledger.Reads(ctx, r)
		switch {
		case err != nil && ctx.Err() == nil:
			t.Log.Warn("the ledger can't be told who reads it; it is tried again", "error", err)
			continue
		case err != nil:
			return nil, nil
		case holder.Instance == r.Instance:
			said := make(chan struct{})
			go func() { defer close(said); t.keepReading(ctx, r) }()
			return func() { <-said; t.leave(ctx, r) }, nil
		case first.Instance == holder.Instance && holder.Seen.After(first.Seen):
			return nil, &ledger.Error{Code: ledger.Conflict, Field: "--ledger-name", Message: fmt.Sprintf(
				"another Cardea reads target %s of the ledger under the name %s", r.Target, r.Name),
				Fix: "state another name for one of them"}
		case first.Instance != holder.Instance:
			t.Log.Info("another Cardea read the ledger under this name; whether it still does is looked at", "name", r.Name,
				"seen", holder.Seen)
			first = holder
		}
	}
	return nil, nil
}

// keepReading says so again and again. If another Cardea got the name meanwhile, since the ledger could not be reached
// for long, that is logged: what serves goes on.
func (t *Tracker) keepReading(ctx context.Context, r ledger.Reading) {
	for pause(ctx, ledger.ReadsEvery); ctx.Err() == nil; pause(ctx, ledger.ReadsEvery) {
		holder, err := t.Ledger.Reads(ctx, r)
		if err != nil && ctx.Err() == nil {
			t.Log.Warn("the ledger can't be told who reads it; it is tried again", "error", err)
		} else if err == nil && holder.Instance != r.Instance {
			t.Log.Error("another Cardea reads the ledger under the name of this one; state another one with --ledger-name",
				"name", r.Name)
		}
	}
}

func (t *Tracker) leave(ctx context.Context, r ledger.Reading) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaving)
	defer cancel()
	if err := t.Ledger.Leaves(ctx, r); err != nil {
		t.Log.Warn("the ledger can't be told that this Cardea ends", "error", err)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
