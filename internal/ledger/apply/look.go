package apply

import (
	"context"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

const (
	lookMost     = 200                   // objects that are looked at in one round
	lookParallel = 4                     // of them at a time
	lookPatience = 20 * time.Millisecond // before a round, so that events of one edit come together
	lookAgain    = time.Second           // after which what is on its way is looked at again
	lookLatest   = 30 * time.Second
)

// look looks at suspects and tells the ledger news, until ctx ends.
func (v *watcher) look(ctx context.Context) {
	for {
		if !v.await(ctx) || !sleep(ctx, lookPatience) {
			return
		}
		v.askTargets(ctx)
		news, suspects := v.taken()
		if !v.tell(ctx, news) {
			sleep(ctx, lookAgain)
		}
		if err := v.examine(ctx, suspects); err != nil && ctx.Err() == nil {
			v.w.cfg.Log.Warn("can't tell whether objects are as they were applied", "objects", len(suspects), "error", err)
			v.again(suspects, lookAgain)
			sleep(ctx, lookAgain)
		}
	}
}

// await waits until there is something to do. False: ctx ended.
func (v *watcher) await(ctx context.Context) bool {
	v.mu.Lock()
	next := v.w.cfg.Poll
	if len(v.news) > 0 {
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

// taken takes what is to be told, and what is to be looked at now.
func (v *watcher) taken() (news []place, suspects []place) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for p := range v.index.news {
		news = append(news, p)
	}
	clear(v.index.news)
	now := time.Now()
	for p, at := range v.suspects {
		if len(suspects) < lookMost && !at.After(now) {
			suspects = append(suspects, p)
			delete(v.suspects, p)
		}
	}
	return news, suspects
}

// tell tells the ledger of objects that are as applied. False: it does not answer.
func (v *watcher) tell(ctx context.Context, places []place) bool {
	if len(places) > lookMost {
		first := v.tell(ctx, places[:lookMost])
		return v.tell(ctx, places[lookMost:]) && first
	}
	var list []ledger.Observation
	var live []ledger.Live
	said := map[place]told{}
	v.mu.Lock()
	for _, p := range places {
		if i := v.items[p]; i != nil && i.judge() == fresh {
			s := i.seen
			list = append(list, ledger.Observation{Object: i.id, UID: s.uid, ResourceVersion: s.version,
				Generation: s.generation, Result: s.sum})
			if s.answers != "" && (s.answers != i.told.answers || s.generation != i.told.generation) {
				live = append(live, liveOf(i.key, v.w.cfg.Cluster, s.generation, s.answers)...)
			}
			said[p] = i.toldOf(s)
		}
	}
	v.mu.Unlock()
	if len(list) == 0 {
		return true
	}
	err := v.w.cfg.Work.Observe(ctx, v.w.cfg.Cluster, list)
	if err == nil && len(live) > 0 {
		err = v.w.cfg.Work.Report(ctx, live)
	}
	if err != nil && ctx.Err() == nil {
		v.w.cfg.Log.Warn("the ledger does not answer", "error", err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for p, t := range said {
		if i := v.items[p]; i != nil {
			if err == nil {
				i.told = t
			}
			v.index.look(p)
		}
	}
	return err == nil
}

// again has places looked at later.
func (v *watcher) again(places []place, after time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, p := range places {
		v.suspect(p, time.Now().Add(after))
	}
}

// observe tells the ledger of drift.
func (v *watcher) observe(ctx context.Context, o ledger.Observation) bool {
	if err := v.w.cfg.Work.Observe(ctx, v.w.cfg.Cluster, []ledger.Observation{o}); err != nil {
		if ctx.Err() == nil {
			v.w.cfg.Log.Warn("the ledger does not answer", "error", err)
		}
		return false
	}
	if o.Correct {
		v.w.due()
	}
	return true
}
