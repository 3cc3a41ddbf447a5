package apply

import (
	"context"
	"sync"
	"time"

	"cardea.dev/cardea/internal/ledger"
)

// hurried is how often the ledger is asked for work while something failed or waits: it may be due any second.
const hurried = time.Second

// claims takes work and does it, as much at a time as there is room for, until ctx ends.
func (w *Worker) claims(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	room := make(chan struct{}, w.cfg.Parallel)
	for ctx.Err() == nil {
		if !w.reachable(ctx) {
			return
		}
		select { // wait for room
		case room <- struct{}{}:
			<-room
		case <-ctx.Done():
			return
		}
		free := cap(room) - len(room)
		asked := time.Now() // the lease began later than this
		list, err := w.cfg.Work.Claim(ctx, ledger.ClaimQuery{Cluster: w.cfg.Cluster, Worker: w.cfg.Worker, Max: free,
			Lease: w.cfg.Lease})
		if err != nil && ctx.Err() == nil {
			w.cfg.Log.Warn("the ledger does not answer", "error", err)
		}
		w.cfg.Metrics.claims.WithLabelValues(w.cfg.Cluster).Add(float64(len(list)))
		for _, c := range list {
			room <- struct{}{} // no more were asked for than there was room
			group.Go(func() {
				defer func() {
					<-room
					w.due() // others may have waited for it
				}()
				// What was begun is finished, though ctx ends: nobody else may do it before the lease ends.
				w.handle(context.WithoutCancel(ctx), c, asked.Add(w.cfg.Lease))
			})
		}
		if len(list) == free && free > 0 {
			continue
		}
		w.idle(ctx)
	}
}

// idle waits until there may be work.
func (w *Worker) idle(ctx context.Context) {
	poll := w.cfg.Poll
	if w.blocked.any() {
		poll = min(poll, hurried)
	}
	timer := time.NewTimer(poll)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-w.wake:
	case <-timer.C:
	}
}

// hints has work claimed when somebody made a change, until ctx ends. They are hints only: what is missed is found by
// asking.
func (w *Worker) hints(ctx context.Context) {
	if w.cfg.Changes == nil {
		return
	}
	for ctx.Err() == nil {
		head, err := w.cfg.Changes.Head(ctx)
		if err == nil {
			w.due() // changes until now
			for change, err := range w.cfg.Changes.Watch(ctx, head.Change) {
				if err != nil {
					break
				}
				w.due()
				w.watcher.changed(change)
			}
		}
		sleep(ctx, hurried)
	}
}

// reachable waits until the API server answers, if it did not. Then what failed for that reason is due at once. False:
// ctx ended.
func (w *Worker) reachable(ctx context.Context) bool {
	select {
	case <-w.down:
	default:
		return ctx.Err() == nil
	}
	w.cfg.Log.Warn("the API server does not answer: nothing is applied until it does")
	for !w.api.ready(ctx) {
		if !sleep(ctx, hurried/2) {
			return false
		}
	}
	w.cfg.Log.Info("the API server answers again")
	w.retry(ctx, w.blocked.by(contact))
	return ctx.Err() == nil
}

// retry makes what failed due now.
func (w *Worker) retry(ctx context.Context, keys []ledger.Key) {
	if len(keys) == 0 {
		return
	}
	if _, err := w.cfg.Work.Retry(ctx, w.cfg.Cluster, keys); err != nil {
		w.cfg.Log.Warn("the ledger does not answer", "error", err)
		return
	}
	w.due()
}
