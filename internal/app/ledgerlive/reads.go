package ledgerlive

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

const (
	// claimInterval is the time between looks at a name that another Cardea had lately: it may have died.
	claimInterval = 500 * time.Millisecond
	// releaseTimeout is how long saying goodbye may take.
	releaseTimeout = 5 * time.Second
)

// claimName says that this Cardea reads its target, until ctx is done; end waits for that, and says that it does not
// any more. A name that another Cardea has is waited for until it is clear whether that one is alive: then that is the
// error.
func (t *Tracker) claimName(ctx context.Context) (end func(), err error) {
	r := ledger.Reading{Target: t.Target, Name: t.Cluster, Instance: rand.Text()}
	for first := (ledger.Reading{}); ctx.Err() == nil; sleepContext(ctx, claimInterval) {
		holder, err := t.Ledger.RecordReader(ctx, r)
		switch {
		case err != nil && ctx.Err() == nil:
			t.Log.Warn("this Cardea can't be registered as a reader of the ledger; retrying", "error", err)
			continue
		case err != nil:
			return nil, nil
		case holder.Instance == r.Instance:
			said := make(chan struct{})
			go func() { defer close(said); t.keepReading(ctx, r) }()
			return func() { <-said; t.releaseName(ctx, r) }, nil
		case first.Instance == holder.Instance && holder.Seen.After(first.Seen):
			return nil, &ledger.Error{Code: ledger.Conflict, Field: "--ledger-name", Message: fmt.Sprintf(
				"another Cardea reads target %s of the ledger under the name %s", r.Target, r.Name),
				Fix: "state another name for one of them"}
		case first.Instance != holder.Instance:
			t.Log.Info("another Cardea read the ledger under this name; checking whether it still does", "name", r.Name,
				"seen", holder.Seen)
			first = holder
		}
	}
	return nil, nil
}

// keepReading says so again and again. If another Cardea got the name meanwhile, since the ledger could not be reached
// for long, that is logged: what serves goes on.
func (t *Tracker) keepReading(ctx context.Context, r ledger.Reading) {
	for sleepContext(ctx, ledger.ReadsEvery); ctx.Err() == nil; sleepContext(ctx, ledger.ReadsEvery) {
		holder, err := t.Ledger.RecordReader(ctx, r)
		if err != nil && ctx.Err() == nil {
			t.Log.Warn("this Cardea can't be registered as a reader of the ledger; retrying", "error", err)
		} else if err == nil && holder.Instance != r.Instance {
			t.Log.Error("another Cardea reads the ledger under the name of this one; state another one with --ledger-name",
				"name", r.Name)
		}
	}
}

func (t *Tracker) releaseName(ctx context.Context, r ledger.Reading) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := t.Ledger.RemoveReader(ctx, r); err != nil {
		t.Log.Warn("the ledger can't be told that this Cardea stops", "error", err)
	}
}

func sleepContext(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
