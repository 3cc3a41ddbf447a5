package apply

import (
	"context"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

const (
	reviewBatch    = 200                   // objects that are looked at in one round
	reviewParallel = 4                     // of them at a time
	reviewDebounce = 20 * time.Millisecond // before a round, so that events of one edit come together
	reviewRetry    = time.Second           // after which what is on its way is looked at again
	reviewLatest   = 30 * time.Second
)

// runReviews looks at suspects and tells the ledger news, until ctx ends.
func (v *watcher) runReviews(ctx context.Context) {
	for {
		if !v.waitForSuspects(ctx) || !sleep(ctx, reviewDebounce) {
			return
		}
		v.askTargets(ctx)
		news, suspects := v.takePending()
		if !v.reportFresh(ctx, news) {
			sleep(ctx, reviewRetry)
		}
		if err := v.examineSuspects(ctx, suspects); err != nil && ctx.Err() == nil {
			v.worker.cfg.Log.Warn("can't check whether objects are as they were applied", "objects", len(suspects), "error", err)
			v.reviewLater(suspects, reviewRetry)
			sleep(ctx, reviewRetry)
		}
	}
}

// waitForSuspects waits until there is something to do. False: ctx ended.
func (v *watcher) waitForSuspects(ctx context.Context) bool {
	v.mu.Lock()
	next := v.worker.cfg.Poll
	if len(v.unreported) > 0 {
		next = 0
	}
	for _, at := range v.suspects {
		next = min(next, time.Until(at))
	}
	v.mu.Unlock()
	if next <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(next)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-v.wake:
	}
	return true
}

// takePending takes what is to be told, and what is to be looked at now.
func (v *watcher) takePending() (news []objectKey, suspects []objectKey) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for p := range v.index.unreported {
		news = append(news, p)
	}
	clear(v.index.unreported)
	now := time.Now()
	for p, at := range v.suspects {
		if len(suspects) < reviewBatch && !at.After(now) {
			suspects = append(suspects, p)
			delete(v.suspects, p)
		}
	}
	return news, suspects
}

// reportFresh tells the ledger of objects that are as applied. False: it does not answer.
func (v *watcher) reportFresh(ctx context.Context, places []objectKey) bool {
	if len(places) > reviewBatch {
		first := v.reportFresh(ctx, places[:reviewBatch])
		return v.reportFresh(ctx, places[reviewBatch:]) && first
	}
	var list []ledger.Observation
	var live []ledger.Live
	said := map[objectKey]reportedState{}
	v.mu.Lock()
	for _, p := range places {
		if i := v.items[p]; i != nil && i.judgeSnapshot() == fresh {
			s := i.lastSeen
			list = append(list, ledger.Observation{Object: i.id, UID: s.uid, ResourceVersion: s.version,
				Generation: s.generation, Result: s.sum})
			if s.answers != "" && (s.answers != i.reported.answers || s.generation != i.reported.generation) {
				live = append(live, liveOf(i.key, v.worker.cfg.Cluster, s.generation, s.answers)...)
			}
			said[p] = i.reportedStateOf(s)
		}
	}
	v.mu.Unlock()
	if len(list) == 0 {
		return true
	}
	err := v.worker.cfg.Work.Observe(ctx, v.worker.cfg.Cluster, list)
	if err == nil && len(live) > 0 {
		err = v.worker.cfg.Work.ReportAnswers(ctx, live)
	}
	if err != nil && ctx.Err() == nil {
		v.worker.cfg.Log.Warn("the ledger does not answer", "error", err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for p, t := range said {
		if i := v.items[p]; i != nil {
			if err == nil {
				i.reported = t
			}
			v.index.reviewObject(p)
		}
	}
	return err == nil
}

// reviewLater has places looked at later.
func (v *watcher) reviewLater(places []objectKey, after time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, p := range places {
		v.addSuspect(p, time.Now().Add(after))
	}
}

// reportObservation tells the ledger of drift.
func (v *watcher) reportObservation(ctx context.Context, o ledger.Observation) bool {
	if err := v.worker.cfg.Work.Observe(ctx, v.worker.cfg.Cluster, []ledger.Observation{o}); err != nil {
		if ctx.Err() == nil {
			v.worker.cfg.Log.Warn("the ledger does not answer", "error", err)
		}
		return false
	}
	if o.Correct {
		v.worker.wakeUp()
	}
	return true
}
