package lastgood

import (
	"bytes"
	"context"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// clockInterval is how often the clock is looked at, at least: it may be set while Cardea runs.
const clockInterval = time.Hour

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
	// pendingEdit is an edit that was applied last; nil: it has been seen in the graph. Uses depend on what is kept, so
	// nothing is decided between the two.
	pendingEdit *edit
	nextExpiry  time.Time // when the first of what is kept expires; zero: nothing does
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
		case <-time.After(k.untilNextExpiry()):
		}
		k.Step()
	}
}

// untilNextExpiry is how long nothing expires.
func (k *Keeper) untilNextExpiry() time.Duration {
	if k.nextExpiry.IsZero() {
		return clockInterval
	}
	return min(clockInterval, max(0, k.nextExpiry.Sub(k.cfg.Now())))
}

// Step keeps what the last turn shows as used, and ends what has expired. It tells whether it changed anything: then
// another turn is due.
func (k *Keeper) Step() (changed bool) {
	k.cfg.Graph.View(func(v flow.View) {
		if k.pendingEdit != nil && !k.isApplied(v, *k.pendingEdit) {
			return
		}
		k.pendingEdit = nil
		now := k.cfg.Now()
		edits := k.editsOfChanges(v, now)
		if !k.nextExpiry.IsZero() && !now.Before(k.nextExpiry) {
			edits = append(edits, k.editsOfExpired(v, now)...)
		}
		if len(edits) > 0 {
			changed, k.pendingEdit = true, &edits[0]
			k.applyEdits(edits)
		}
	})
	return changed
}

// isApplied tells whether an edit is in the graph.
func (k *Keeper) isApplied(v flow.View, e edit) bool {
	is, kept := flow.Get(v, k.cfg.Kept.Collection(), e.Key)
	return e.Gone && !kept || !e.Gone && kept && equalMaterial(is, e.Keep)
}

// editsOfChanges are the edits for what is used otherwise than before.
func (k *Keeper) editsOfChanges(v flow.View, now time.Time) (edits []edit) {
	for change := range k.used.Changes(v) {
		e := edit{change.Key, change.Value.Material, change.Deleted || isExpired(change.Value.Material, now)}
		if !k.isApplied(v, e) {
			edits = append(edits, e)
		}
		if !e.Gone {
			k.noteExpiry(e.Keep.Until)
		}
	}
	return edits
}

// editsOfExpired are the edits for what has expired. It finds when the next of the others does.
func (k *Keeper) editsOfExpired(v flow.View, now time.Time) (edits []edit) {
	k.nextExpiry = time.Time{}
	for key, own := range flow.All(v, k.cfg.Kept.Collection()) {
		if isExpired(own, now) {
			edits = append(edits, edit{Key: key, Gone: true})
		} else {
			k.noteExpiry(own.Until)
		}
	}
	return edits
}

func (k *Keeper) noteExpiry(until time.Time) {
	if !until.IsZero() && (k.nextExpiry.IsZero() || until.Before(k.nextExpiry)) {
		k.nextExpiry = until
	}
}

func (k *Keeper) applyEdits(edits []edit) {
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

// isExpired tells whether what is good until a time is not good any more.
func isExpired(m model.Material, now time.Time) bool {
	return !m.Until.IsZero() && !now.Before(m.Until)
}

func equalMaterial(a, b model.Material) bool {
	return bytes.Equal(a.Text, b.Text) && bytes.Equal(a.PrivateKey, b.PrivateKey) && a.Until.Equal(b.Until)
}
