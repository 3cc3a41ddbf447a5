package apply

import (
	"context"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// targetsNow are the targets by name, as they were at most two seconds ago.
func (v *watcher) targetsNow(ctx context.Context) (map[string]ledger.Target, error) {
	v.targetsMu.Lock()
	defer v.targetsMu.Unlock()
	if v.targets != nil && time.Since(v.asked) < 2*time.Second {
		return v.targets, nil
	}
	list, err := v.w.cfg.Targets(ctx)
	if err != nil {
		return nil, err
	}
	before := v.targets
	v.targets, v.asked = map[string]ledger.Target{}, time.Now()
	for _, t := range list {
		v.targets[t.Name] = t
	}
	if before != nil {
		v.retarget(before, v.targets)
	}
	return v.targets, nil
}

// retarget has drift that was told looked at again, if its target wants something else by now.
func (v *watcher) retarget(before, now map[string]ledger.Target) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for p, i := range v.items {
		if i.told.drift != "" && before[i.key.Target].Drift != now[i.key.Target].Drift {
			i.told = told{}
			v.index.look(p)
		}
	}
}

// askTargets asks what targets want as often as for work.
func (v *watcher) askTargets(ctx context.Context) {
	v.targetsMu.Lock()
	asked := v.asked
	v.targetsMu.Unlock()
	if time.Since(asked) >= v.w.cfg.Poll {
		_, _ = v.targetsNow(ctx) // an examination says so if it fails
	}
}
