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
	parallel = 8
	rate     = 200 // a second
	burst    = 2 * rate
	// conflicts is how often a write is tried again at once because somebody else was faster.
	conflicts = 5
)

// result is what became of a write.
type result string

const (
	written   result = "written"
	unchanged result = "unchanged" // the API server had it already
	stale     result = "stale"     // the object is newer than its report, or another one
	gone      result = "gone"
	failed    result = "failed"  // by something that may pass
	refused   result = "refused" // by the API server's rules
	away      result = "away"    // the API server does not answer
)

// write writes what is due, until ctx ends.
func (t *term) write(ctx context.Context) {
	limit := flowcontrol.NewTokenBucketRateLimiter(rate, burst)
	defer limit.Stop()
	slots := make(chan struct{}, parallel)
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
		j, ok := t.queue.next(ctx)
		if !ok {
			return
		}
		work := func() {
			o := t.do(ctx, j)
			pause.note(o.result, o.retry)
			t.queue.done(j.ref, o)
			<-slots
		}
		if pause.on() {
			work() // one tries whether the API server is back
		} else {
			running.Go(work)
		}
	}
}

// do writes one object's status.
func (t *term) do(ctx context.Context, j job) outcome {
	o, err := t.try(ctx, j)
	if ctx.Err() != nil {
		return outcome{result: away}
	}
	if err != nil {
		o.result, o.retry = classify(err)
		t.complain(j, o.result, err)
	}
	t.metrics.writes.WithLabelValues(j.statusKind.String(), string(o.result)).Inc()
	if o.result == written {
		t.metrics.took.Observe(time.Since(j.since).Seconds())
	}
	return o
}

// try reads the object, unless it need not be, and writes what differs, again if somebody else was faster.
func (t *term) try(ctx context.Context, j job) (o outcome, err error) {
	for n := range conflicts {
		var is object
		if n == 0 && j.blank != nil {
			is.Generation = j.blank.generation
		} else {
			read, err := t.clients.get(ctx, j.statusKind, j.ref)
			if err != nil {
				return o, err
			}
			is = *read
			s := read.sight(&j.form, t.cfg.controller)
			o.sight = &s
		}
		o, err = t.once(ctx, j, is, o)
		if !apierrors.IsConflict(err) {
			return o, err
		}
	}
	return o, err
}

// once writes the newest report to the object as it was read.
func (t *term) once(ctx context.Context, j job, is object, o outcome) (outcome, error) {
	var read func() (report, error)
	t.cfg.Graph.View(func(v flow.View) { read = said(j.reports.Get(v, j.ref)) })
	want, err := t.wants(j.statusKind, read)
	if err != nil {
		return o, mistake{err}
	}
	o.want = want.digest
	parts, err := j.form.parse(is.Status, t.cfg.controller)
	if err != nil {
		return o, mistake{err}
	}
	version, seen := is.number(), digest{uid: identity(string(is.UID))}
	if o.sight == nil {
		version, seen = j.blank.version, j.blank.seen
	}
	switch {
	case !want.digest.claimed && !j.form.Controlled:
		o.result = unchanged
		return o, nil
	case want.digest.claimed && (is.Generation > want.digest.generation || seen.another(&want.digest)):
		o.result = stale
		return o, nil
	}
	m := j.form.merge(parts, want.parts, metav1.NewTime(t.cfg.Now()))
	if len(m.status) == 0 {
		o.result = unchanged
		return o, nil
	}
	now, err := t.clients.patch(ctx, j.statusKind, j.ref, version, m.status)
	if err != nil {
		return o, err
	}
	s := now.sight(&j.form, t.cfg.controller)
	o.sight, o.result = &s, written
	if m.dropped > 0 {
		t.cfg.Log.Warn("others left no room for all of a status", "object", j.ref, "dropped", m.dropped)
	}
	t.events.tell(j, now.UID, m.turns, want.findings)
	return o, nil
}

// complain logs what somebody should look into.
func (t *term) complain(j job, r result, err error) {
	switch r {
	case gone:
	case away:
		t.cfg.Log.Debug("the API server does not answer", "object", j.ref, "error", err)
	default:
		t.cfg.Log.Warn("a status could not be written", "object", j.ref, "error", err)
	}
}
