package apply

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"cardea.dev/cardea/internal/core/ledger"
)

// recordResult tells the ledger that a claim is done. If it does not answer before the lease ends, the object is due
// again by itself, and is then found as it should be.
func (w *Worker) recordResult(ctx context.Context, c ledger.Claim, d jobOutcome) {
	r := ledger.Result{Object: c.ID, Cluster: w.cfg.Cluster, Lease: c.Lease, Generation: c.Generation,
		Revision: c.Revision, Gone: d.object == nil}
	version := ""
	if d.object != nil {
		r.UID, r.KubeGeneration = string(d.object.GetUID()), d.object.GetGeneration()
		r.Result = resultHash(d.object, exactKind(schema.GroupKind{Group: c.Group, Kind: c.Kind}))
		version = d.object.GetResourceVersion()
	}
	w.blocked.clear(c.Key)
	recorded, err := w.retryUntilAnswered(ctx, func() (bool, error) { return w.cfg.Work.Record(ctx, r) })
	switch {
	case isFinal(err):
		w.recordFailure(ctx, c, claimFailure{string(ledger.CodeOf(err)), err.Error(), true, retryAfterDelay})
		return
	case err != nil:
		return
	case !recorded:
		// Somebody else had the lease by then, and may have written before us.
		w.cfg.Log.Warn("the lease was lost", "object", c.Key.String(), "generation", c.Generation)
		w.watcher.suspectKey(c.Key)
		return
	}
	w.cfg.Metrics.applied.WithLabelValues(w.cfg.Cluster, d.did).Inc()
	if d.did == "created" || d.did == "changed" || d.did == "deleted" {
		if lag := w.cfg.Now().Sub(c.At); lag >= 0 && (c.Applied == nil || c.Applied.Generation != c.Generation) {
			w.cfg.Metrics.lag.WithLabelValues(w.cfg.Cluster).Observe(lag.Seconds())
		}
	}
	w.cfg.Log.Debug("applied", "object", c.Key.String(), "generation", c.Generation, "did", d.did)
	w.watcher.noteRecorded(c.Key, r, version)
	if c.Kind == "Namespace" && c.Group == "" && !r.Gone {
		w.retryKeys(ctx, w.blocked.inNamespace(c.Name))
	}
}

// recordFailure tells the ledger why a claim is not done.
func (w *Worker) recordFailure(ctx context.Context, c ledger.Claim, f claimFailure) {
	if f.retryOn == retryOnContact {
		select {
		case w.down <- struct{}{}:
		default:
		}
	}
	is := blockReason{code: f.code, retryOn: f.retryOn, version: versionOf(c), deleted: c.IsDeleted()}
	if !f.permanent {
		is.failedAt = time.Now()
	}
	w.blocked.set(c.Key, is)
	told, err := w.retryUntilAnswered(ctx, func() (bool, error) {
		return w.cfg.Work.Fail(ctx, ledger.Failure{Object: c.ID, Cluster: w.cfg.Cluster, Lease: c.Lease,
			Generation: c.Generation, Code: f.code, Message: f.message, Permanent: f.permanent})
	})
	if f.code == codeTimeout || f.code == codeUnreachable {
		w.watcher.suspectKey(c.Key) // it may have been written all the same, and perhaps too late
	}
	switch {
	case err != nil:
		return
	case !told: // what failed is somebody else's by now
		w.cfg.Log.Warn("the lease was lost", "object", c.Key.String(), "generation", c.Generation, "error", f.message)
		return
	}
	if f.code == ledger.Waiting {
		w.watcher.noteWaiting(c.Key)
		return
	}
	w.cfg.Metrics.failures.WithLabelValues(w.cfg.Cluster, f.code).Inc()
	w.cfg.Log.Warn("not applied", "object", c.Key.String(), "generation", c.Generation, "code", f.code, "error", f.message)
}

// isFinal tells whether an error is the ledger's answer, and not that it does not answer.
func isFinal(err error) bool {
	code := ledger.CodeOf(err)
	return code != "" && code != ledger.Unavailable
}

// retryUntilAnswered tells the ledger something again and again, until it answers or ctx ends.
func (w *Worker) retryUntilAnswered(ctx context.Context, tell func() (bool, error)) (told bool, err error) {
	pause := 50 * time.Millisecond
	for {
		if told, err = tell(); err == nil || isFinal(err) {
			return told, err
		}
		w.cfg.Log.Warn("the ledger does not answer", "error", err)
		if !sleep(ctx, pause) {
			return false, err
		}
		pause = min(2*pause, time.Second)
	}
}
