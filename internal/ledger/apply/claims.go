package apply

import (
	"context"
	"sync"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// fastPoll is how often the ledger is asked for work for some time after something failed: it may be due any second.
const (
	fastPoll    = time.Second
	fastPollFor = time.Minute
)

// runClaims takes work and does it, as much at a time as there is room for, until ctx ends.
func (w *Worker) runClaims(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	ended := make(chan struct{}, w.cfg.Parallel)
	running, wanted := 0, 1 // wanted: how much room there must be
	for {
		for running > w.cfg.Parallel-wanted {
			select {
			case <-ended:
				running--
			case <-ctx.Done():
				return
			}
		}
		if !w.waitUntilReachable(ctx) {
			return
		}
		free := w.cfg.Parallel - running
		list := w.claimWork(ctx, free, func(handle func()) {
			running++
			group.Go(func() {
				handle()
				ended <- struct{}{} // has room for all
				w.wakeUp()          // others may have waited for it
			})
		})
		if wanted = 1; list == free {
			// There is more than can be done at once: so it is claimed some at a time.
			wanted = (w.cfg.Parallel + 1) / 2
			continue
		}
		w.waitForWork(ctx)
		for drained := false; !drained; {
			select {
			case <-ended:
				running--
			default:
				drained = true
			}
		}
	}
}

// claimWork takes at most so much work, and starts it. It answers how much there was.
func (w *Worker) claimWork(ctx context.Context, most int, start func(handle func())) int {
	seen, unseen := w.marker.readSeen(ctx)
	asked := time.Now() // the lease began later than this
	list, err := w.cfg.Work.Claim(ctx, ledger.ClaimQuery{Cluster: w.cfg.Cluster, Worker: w.cfg.Worker, Max: most,
		Lease: w.cfg.Lease, Seen: seen})
	if err != nil && ctx.Err() == nil {
		w.cfg.Log.Warn("no work can be claimed", "error", err)
	}
	w.cfg.Metrics.claims.WithLabelValues(w.cfg.Cluster).Add(float64(len(list)))
	for _, c := range list {
		// A claim that was begun is finished even if ctx ends: nobody else may do it before the lease ends.
		start(func() { w.handleClaim(context.WithoutCancel(ctx), c, asked.Add(w.cfg.Lease), unseen) })
	}
	return len(list)
}

// waitForWork waits until there may be work.
func (w *Worker) waitForWork(ctx context.Context) {
	poll := w.cfg.Poll
	if w.blocked.failedRecently() {
		poll = min(poll, fastPoll)
	}
	timer := time.NewTimer(poll)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-w.wake:
	case <-timer.C:
	}
}

// followChanges has work claimed when somebody made a change, until ctx ends. They are hints only: polling finds the
// changes that they miss.
func (w *Worker) followChanges(ctx context.Context) {
	if w.cfg.News != nil {
		w.followNews(ctx)
		return
	}
	if w.cfg.Changes == nil {
		return
	}
	for ctx.Err() == nil {
		head, err := w.cfg.Changes.Head(ctx)
		if err == nil {
			w.wakeUp() // changes until now
			for change, err := range w.cfg.Changes.Watch(ctx, head.Change) {
				if err != nil {
					break
				}
				w.wakeUp()
				w.watcher.suspectChanged(change)
			}
		}
		sleep(ctx, fastPoll)
	}
}

// followNews is hints for a worker that may not read changes.
func (w *Worker) followNews(ctx context.Context) {
	last := int64(0)
	for ctx.Err() == nil {
		newest, err := w.cfg.News(ctx, last)
		if err != nil {
			sleep(ctx, fastPoll)
			continue
		}
		if newest != last {
			last = newest
			w.wakeUp()
		}
	}
}

// waitUntilReachable waits until the API server answers, if it did not. Then claims that failed for that reason are due
// at once. False: ctx ended.
func (w *Worker) waitUntilReachable(ctx context.Context) bool {
	select {
	case <-w.down:
	default:
		return ctx.Err() == nil
	}
	if w.api.isReady(ctx) {
		return ctx.Err() == nil // it was that one object, which is tried again when it is due
	}
	w.cfg.Log.Warn("the API server does not answer: nothing is applied until it does")
	for !w.api.isReady(ctx) {
		if !sleep(ctx, fastPoll/2) {
			return false
		}
	}
	w.cfg.Log.Info("the API server answers again")
	for !w.retryKeys(ctx, w.blocked.keysWaitingFor(retryOnContact)) {
		if !sleep(ctx, fastPoll) {
			return false
		}
	}
	return ctx.Err() == nil
}

// retryKeys makes what failed due now. False: the ledger does not answer.
func (w *Worker) retryKeys(ctx context.Context, keys []ledger.Key) bool {
	if len(keys) == 0 {
		return true
	}
	if _, err := w.cfg.Work.Retry(ctx, w.cfg.Cluster, keys); err != nil {
		w.cfg.Log.Warn("the ledger does not answer", "error", err)
		return false
	}
	w.wakeUp()
	return true
}
