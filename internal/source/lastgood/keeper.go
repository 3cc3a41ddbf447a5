package lastgood

import (
	"bytes"
	"context"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// look is how often the clock is looked at, at least: it may be set while Cardea runs.
const look = time.Hour

// Config is what a Keeper needs.
type Config struct {
	Graph *flow.Graph
	Used  *flow.Collection[model.MaterialKey, plan.Material]
	Kept  *flow.Source[model.MaterialKey, model.Material]
	Now   func() time.Time // nil: time.Now
}

// Keeper keeps what was good last. One goroutine may use it.
type Keeper struct {
	cfg  Config
	used *flow.Follower[model.MaterialKey, plan.Material]
	// written is an edit that was applied last; nil: it has been seen in the graph. Uses depend on what is kept, so
	// nothing is decided between the two.
	written *edit
	next    time.Time // when the first of what is kept expires; zero: nothing does
}

// edit is what is to be kept under a key; Gone: nothing.
type edit struct {
	Key  model.MaterialKey
	Keep model.Material
	Gone bool
}

// New makes a Keeper. It does nothing before Run or Step.
func New(cfg Config) *Keeper {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Keeper{cfg: cfg, used: flow.Follow(cfg.Used)}
}

// Run keeps what is good until ctx is done.
func (k *Keeper) Run(ctx context.Context) error {
	defer k.used.Stop()
	turns := k.cfg.Graph.Notify(ctx)
	for {
		select {
		case _, open := <-turns:
			if !open {
				return nil
			}
		case <-time.After(k.wait()):
		}
		k.Step()
	}
}

// wait is how long nothing expires.
func (k *Keeper) wait() time.Duration {
	if k.next.IsZero() {
		return look
	}
	return min(look, max(0, k.next.Sub(k.cfg.Now())))
}

// Step keeps what the last turn shows as used, and ends what has expired. It tells whether it changed anything: then
// another turn is due.
func (k *Keeper) Step() (changed bool) {
	k.cfg.Graph.View(func(v flow.View) {
		if k.written != nil && !k.seen(v, *k.written) {
			return
		}
		k.written = nil
		now := k.cfg.Now()
		edits := k.changes(v, now)
		if !k.next.IsZero() && !now.Before(k.next) {
			edits = append(edits, k.expired(v, now)...)
		}
		if len(edits) > 0 {
			changed, k.written = true, &edits[0]
			k.apply(edits)
		}
	})
	return changed
}

// seen tells whether an edit is in the graph.
func (k *Keeper) seen(v flow.View, e edit) bool {
	is, kept := flow.Get(v, k.cfg.Kept.Collection(), e.Key)
	return e.Gone && !kept || !e.Gone && kept && equal(is, e.Keep)
}

// changes are the edits for what is used otherwise than before.
func (k *Keeper) changes(v flow.View, now time.Time) (edits []edit) {
	for change := range k.used.Changes(v) {
		e := edit{change.Key, change.Value.Material, change.Deleted || expires(change.Value.Material, now)}
		if !k.seen(v, e) {
			edits = append(edits, e)
		}
		if !e.Gone {
			k.expect(e.Keep.Until)
		}
	}
	return edits
}

// expired are the edits for what has expired. It finds when the next of the others does.
func (k *Keeper) expired(v flow.View, now time.Time) (edits []edit) {
	k.next = time.Time{}
	for key, own := range flow.All(v, k.cfg.Kept.Collection()) {
		if expires(own, now) {
			edits = append(edits, edit{Key: key, Gone: true})
		} else {
			k.expect(own.Until)
		}
	}
	return edits
}

func (k *Keeper) expect(until time.Time) {
	if !until.IsZero() && (k.next.IsZero() || until.Before(k.next)) {
		k.next = until
	}
}

func (k *Keeper) apply(edits []edit) {
	k.cfg.Graph.Apply("last good", func(b *flow.Batch) {
		for _, e := range edits {
			if e.Gone {
				k.cfg.Kept.Delete(b, e.Key)
			} else {
				k.cfg.Kept.Set(b, e.Key, e.Keep)
			}
		}
	})
}

// expires tells whether what is good until a time is not good any more.
func expires(m model.Material, now time.Time) bool { return !m.Until.IsZero() && !now.Before(m.Until) }

func equal(a, b model.Material) bool {
	return bytes.Equal(a.Text, b.Text) && bytes.Equal(a.PrivateKey, b.PrivateKey) && a.Until.Equal(b.Until)
}
