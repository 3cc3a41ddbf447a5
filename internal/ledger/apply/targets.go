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
	if v.targets != nil && time.Since(v.targetsRead) < 2*time.Second {
		return v.targets, nil
	}
	list, err := v.worker.cfg.Targets(ctx)
	if err != nil {
		return nil, err
	}
	before := v.targets
	v.targets, v.targetsRead = map[string]ledger.Target{}, time.Now()
	for _, t := range list {
		v.targets[t.Name] = t
	}
	if before != nil {
		v.reviewRetargeted(before, v.targets)
	}
	return v.targets, nil
}

// reviewRetargeted has drift that was told looked at again, if its target wants something else by now.
func (v *watcher) reviewRetargeted(before, now map[string]ledger.Target) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for p, i := range v.items {
		if i.reported.drift != "" && before[i.key.Target].Drift != now[i.key.Target].Drift {
			i.reported = reportedState{}
			v.index.reviewObject(p)
		}
	}
}

// askTargets asks what targets want as often as for work.
func (v *watcher) askTargets(ctx context.Context) {
	v.targetsMu.Lock()
	asked := v.targetsRead
	v.targetsMu.Unlock()
	if time.Since(asked) >= v.worker.cfg.Poll {
		_, _ = v.targetsNow(ctx) // an examination says so if it fails
	}
}
