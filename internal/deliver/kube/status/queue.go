package status

import (
	"context"
	"sync"
	"time"

	"cardea.dev/cardea/internal/core/model"
)

// queue knows of each object what the API server has and what is wanted, and hands out those that are to be written,
// one at a time. An object that is handed out is not handed out again before it is done.
type queue struct {
	kinds   map[model.Kind]*statusKind
	metrics *metrics
	wake    chan struct{} // holds a token when something may be due earlier than it was

	mu       sync.Mutex
	reported bool                // the first whole turn was followed
	listed   map[model.Kind]bool // the watch has told of every object
	objects  map[model.ObjectRef]*objectState
	waiting  stateHeap // by due
	ready    stateHeap // by rank
}

func newQueue(kinds []*statusKind, m *metrics) *queue {
	d := &queue{
		kinds: map[model.Kind]*statusKind{}, metrics: m, wake: make(chan struct{}, 1),
		listed: map[model.Kind]bool{}, objects: map[model.ObjectRef]*objectState{},
		waiting: stateHeap{before: func(a, b *objectState) bool { return a.due.Before(b.due) }},
		ready:   stateHeap{before: func(a, b *objectState) bool { return a.rankTime().Before(b.rankTime()) }},
	}
	for _, k := range kinds {
		d.kinds[k.Kind] = k
	}
	return d
}

func (d *queue) findState(ref model.ObjectRef) *objectState {
	f, found := d.objects[ref]
	if !found {
		f = &objectState{ref: ref}
		d.objects[ref] = f
	}
	return f
}

// setWanted takes a report's digest; the zero digest says that there is none.
func (d *queue) setWanted(ref model.ObjectRef, want digest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.findState(ref)
	if f.want.sum() != want.sum() || f.want.hasOurs != want.hasOurs {
		f.failures, f.repairs, f.notBefore, f.gone = 0, 0, time.Time{}, false
	}
	f.want, f.isLate = want, !d.reported
	d.placeState(f)
}

// startPlacing says that wanted was told of every report that there is.
func (d *queue) startPlacing() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reported = true
	d.placeAllStates()
}

// snapshot is what was seen of an object.
type snapshot struct {
	version    uint64
	generation int64
	seen       digest
}

// recordSeen takes what the API server has. An older version than the known one is dropped.
func (d *queue) recordSeen(ref model.ObjectRef, s snapshot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.findState(ref)
	if s.version != 0 && s.version < f.version {
		return
	}
	f.setSeen(s)
	d.placeState(f)
}

// recordDeletion says that an object was deleted, by the version of its deletion.
func (d *queue) recordDeletion(ref model.ObjectRef, version uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.objects[ref]; f != nil && (version == 0 || version >= f.version) {
		f.setGone()
		d.placeState(f)
	}
}

// recordAllSeen takes all objects of a kind that there are. It is believed whatever the versions: they go back if the
// API server's store was put back to an earlier state.
func (d *queue) recordAllSeen(kind model.Kind, all map[model.ObjectRef]snapshot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listed[kind] = true
	for ref, s := range all {
		f := d.findState(ref)
		f.setSeen(s)
		d.placeState(f)
	}
	for ref, f := range d.objects {
		if ref.Kind() != kind {
			continue
		}
		if _, found := all[ref]; found {
			continue
		}
		if f.known {
			f.setGone()
		}
		d.placeState(f)
	}
}

func (d *queue) placeAllStates() {
	for _, f := range d.objects {
		d.placeState(f)
	}
}

// placeState puts a file where it belongs: into a line, or nowhere.
func (d *queue) placeState(f *objectState) {
	if f.inProgress {
		return // done places it
	}
	f.leaveHeap()
	defer d.updateGauge()
	if !d.reported || !d.listed[f.ref.Kind()] {
		return // start or recordAllSeen places it
	}
	now, v := time.Now(), f.judgeState()
	if v == upToDate {
		f.differsSince, f.isLate = time.Time{}, false
		if !f.isNeeded() {
			delete(d.objects, f.ref)
		}
		return
	}
	if f.differsSince.IsZero() {
		f.differsSince, f.foundAtStart = now, f.isLate
	}
	if v == behind || f.gone {
		return
	}
	f.due = f.delayDue(v.dueTime(f, now), now)
	d.waiting.addState(f)
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// job is one object to be written.
type job struct {
	*statusKind
	ref       model.ObjectRef
	unwritten *snapshot // the object as it is, if it needs no reading
	since     time.Time
}

// nextJob waits for an object that is due. ok is false when ctx ends.
func (d *queue) nextJob(ctx context.Context) (j job, ok bool) {
	for {
		j, pause := d.takeJob()
		if j.statusKind != nil {
			return j, ctx.Err() == nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return job{}, false
		case <-d.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// takeJob hands out what is to be done about the first file that is due; if there is none, its kind is nil, and pause
// how long to wait for one.
func (d *queue) takeJob() (j job, pause time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for len(d.waiting.states) > 0 && !d.waiting.states[0].due.After(now) {
		f := d.waiting.states[0]
		f.leaveHeap()
		d.ready.addState(f)
	}
	if len(d.ready.states) > 0 {
		f := d.ready.states[0]
		f.leaveHeap()
		f.inProgress = true
		j = job{statusKind: d.kinds[f.ref.Kind()], ref: f.ref, since: f.differsSince}
		if f.known && f.seen.isUnwritten && f.version != 0 {
			j.unwritten = &snapshot{version: f.version, generation: f.generation, seen: digest{uid: f.seen.uid}}
		}
		return j, 0
	}
	if len(d.waiting.states) > 0 {
		return j, d.waiting.states[0].due.Sub(now)
	}
	return j, time.Hour
}

// jobOutcome is what became of a job.
type jobOutcome struct {
	result result
	after  *snapshot     // the object after it, if that is known
	want   digest        // what was wanted when it was done
	retry  time.Duration // not before
}

// finishJob takes a job back.
func (d *queue) finishJob(ref model.ObjectRef, o jobOutcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.objects[ref]
	f.inProgress, f.isLate = false, f.isLate && o.result == unavailable
	if o.after != nil && (o.after.version == 0 || o.after.version >= f.version) {
		f.setSeen(*o.after)
	}
	switch o.result {
	case written:
		if f.writtenSum != o.want.sum() {
			f.repairs = 0
		} else if f.repairs < 250 {
			f.repairs++
		}
		f.writtenAt, f.writtenSum, f.failures, f.notBefore = time.Now(), o.want.sum(), 0, time.Time{}
		f.settled = mixHashes(o.after.seen.sum(), o.want.sum())
		f.differsSince = time.Time{}
	case unchanged, stale:
		if o.result == unchanged && o.after != nil {
			f.settled = mixHashes(o.after.seen.sum(), o.want.sum())
		}
		if v := f.judgeState(); v != upToDate && v != behind && f.want.sum() == o.want.sum() {
			f.backOff(0) // what is known of it is wrong: asking at once would find the same
		} else {
			f.failures, f.notBefore = 0, time.Time{}
		}
	case gone:
		f.setGone()
	case failed, refused:
		f.backOff(o.retry)
	case unavailable: // the writer waits
	}
	d.placeState(f)
}

func (d *queue) updateGauge() {
	d.metrics.queue.Set(float64(len(d.waiting.states) + len(d.ready.states)))
}
