package status

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/flowcontrol"

	"cardea.dev/cardea/internal/core/flow"
)

// Bounds of the writes, so that 10,000 statuses take less than a minute and leave the API server room for others.
const (
	maxWriters      = 8
	writesPerSecond = 200 // a second
	writeBurst      = 2 * writesPerSecond
	// maxConflicts is how often a write is tried again at once because somebody else was faster.
	maxConflicts = 5
)

// result is what became of a write.
type result string

const (
	written     result = "written"
	unchanged   result = "unchanged" // the API server had it already
	stale       result = "stale"     // the object is newer than its report, or another one
	gone        result = "gone"
	failed      result = "failed"  // by something that may pass
	refused     result = "refused" // by the API server's rules
	unavailable result = "away"    // the API server does not answer
)

// writeDue writes what is due, until ctx ends.
func (t *term) writeDue(ctx context.Context) {
	limit := flowcontrol.NewTokenBucketRateLimiter(writesPerSecond, writeBurst)
	defer limit.Stop()
	slots := make(chan struct{}, maxWriters)
	var running sync.WaitGroup
	defer running.Wait()
	pause := &pause{}
	for {
		if limit.Wait(ctx) != nil || !pause.wait(ctx) {
			return
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		j, ok := t.queue.nextJob(ctx)
		if !ok {
			return
		}
		work := func() {
			o := t.writeObject(ctx, j)
			pause.recordResult(o.result, o.retry)
			t.queue.finishJob(j.ref, o)
			<-slots
		}
		if pause.isPaused() {
			work() // one tries whether the API server is back
		} else {
			running.Go(work)
		}
	}
}

// writeObject writes one object's status.
func (t *term) writeObject(ctx context.Context, j job) jobOutcome {
	o, err := t.tryWrite(ctx, j)
	if ctx.Err() != nil {
		return jobOutcome{result: unavailable}
	}
	if err != nil {
		o.result, o.retry = classifyError(err)
		t.logFailure(j, o.result, err)
	}
	t.metrics.writes.WithLabelValues(j.statusKind.String(), string(o.result)).Inc()
	if o.result == written {
		t.metrics.writeLatency.Observe(time.Since(j.since).Seconds())
	}
	return o
}

// tryWrite reads the object, unless it need not be, and writes what differs, again if somebody else was faster.
func (t *term) tryWrite(ctx context.Context, j job) (o jobOutcome, err error) {
	for n := range maxConflicts {
		var is object
		if n == 0 && j.unwritten != nil {
			is.Generation = j.unwritten.generation
		} else {
			read, err := t.clients.get(ctx, j.statusKind, j.ref)
			if err != nil {
				return o, err
			}
			is = *read
			s := read.takeSnapshot(&j.statusLayout, t.cfg.controller)
			o.after = &s
		}
		o, err = t.writeOnce(ctx, j, is, o)
		if !apierrors.IsConflict(err) {
			return o, err
		}
	}
	return o, err
}

// writeOnce writes the newest report to the object as it was read.
func (t *term) writeOnce(ctx context.Context, j job, is object, o jobOutcome) (jobOutcome, error) {
	var read func() (report, error)
	t.cfg.Graph.View(func(v flow.View) { read = deferReport(j.reports.Get(v, j.ref)) })
	want, err := t.computeDesired(j.statusKind, read)
	if err != nil {
		return o, permanentError{err}
	}
	o.want = want.digest
	parts, err := j.statusLayout.parseStatus(is.Status, t.cfg.controller)
	if err != nil {
		return o, permanentError{err}
	}
	version, seen := is.versionNumber(), digest{uid: hashUID(string(is.UID))}
	if o.after == nil {
		version, seen = j.unwritten.version, j.unwritten.seen
	}
	switch {
	case !want.digest.hasOurs && !j.statusLayout.Controlled:
		o.result = unchanged
		return o, nil
	case want.digest.hasOurs && (is.Generation > want.digest.generation || seen.isOtherObject(&want.digest)):
		o.result = stale
		return o, nil
	}
	m := j.statusLayout.mergeStatus(parts, want.parts, metav1.NewTime(t.cfg.Now()))
	if len(m.fields) == 0 {
		o.result = unchanged
		return o, nil
	}
	now, err := t.clients.patch(ctx, j.statusKind, j.ref, version, m.fields)
	if err != nil {
		return o, err
	}
	s := now.takeSnapshot(&j.statusLayout, t.cfg.controller)
	o.after, o.result = &s, written
	if m.dropped > 0 {
		t.cfg.Log.Warn("a status is written in part: entries of other controllers fill the list",
			"object", j.ref, "dropped", m.dropped)
	}
	t.recorder.recordTransitions(j, now.UID, m.transitions, want.findings)
	return o, nil
}

// logFailure logs what somebody should look into.
func (t *term) logFailure(j job, r result, err error) {
	switch r {
	case gone:
	case unavailable:
		t.cfg.Log.Debug("the API server does not answer", "object", j.ref, "error", err)
	default:
		t.cfg.Log.Warn("a status could not be written", "object", j.ref, "error", err)
	}
}
