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
	files    map[model.ObjectRef]*file
	waiting  line // by due
	ready    line // by rank
}

func newQueue(kinds []*statusKind, m *metrics) *queue {
	d := &queue{
		kinds: map[model.Kind]*statusKind{}, metrics: m, wake: make(chan struct{}, 1),
		listed: map[model.Kind]bool{}, files: map[model.ObjectRef]*file{},
		waiting: line{before: func(a, b *file) bool { return a.due.Before(b.due) }},
		ready:   line{before: func(a, b *file) bool { return a.rank().Before(b.rank()) }},
	}
	for _, k := range kinds {
		d.kinds[k.Kind] = k
	}
	return d
}

func (d *queue) file(ref model.ObjectRef) *file {
	f, found := d.files[ref]
	if !found {
		f = &file{ref: ref}
		d.files[ref] = f
	}
	return f
}

// wanted takes a report's digest; the zero digest says that there is none.
func (d *queue) wanted(ref model.ObjectRef, want digest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.file(ref)
	if f.want.sum() != want.sum() || f.want.claimed != want.claimed {
		f.fails, f.repairs, f.blocked, f.gone = 0, 0, time.Time{}, false
	}
	f.want, f.late = want, !d.reported
	d.place(f)
}

// start says that wanted was told of every report that there is.
func (d *queue) start() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reported = true
	d.placeAll()
}

// sight is what was seen of an object.
type sight struct {
	version    uint64
	generation int64
	seen       digest
}

// saw takes what the API server has. An older version than the known one is dropped.
func (d *queue) saw(ref model.ObjectRef, s sight) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.file(ref)
	if s.version != 0 && s.version < f.version {
		return
	}
	f.look(s)
	d.place(f)
}

// lost says that an object was deleted, by the version of its deletion.
func (d *queue) lost(ref model.ObjectRef, version uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.files[ref]; f != nil && (version == 0 || version >= f.version) {
		f.vanish()
		d.place(f)
	}
}

// sawAll takes all objects of a kind that there are. It is believed whatever the versions: they go back if the API
// server's store was put back to an earlier state.
func (d *queue) sawAll(kind model.Kind, all map[model.ObjectRef]sight) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listed[kind] = true
	for ref, s := range all {
		f := d.file(ref)
		f.look(s)
		d.place(f)
	}
	for ref, f := range d.files {
		if ref.Kind() != kind {
			continue
		}
		if _, found := all[ref]; found {
			continue
		}
		if f.known {
			f.vanish()
		}
		d.place(f)
	}
}

func (d *queue) placeAll() {
	for _, f := range d.files {
		d.place(f)
	}
}

// place puts a file where it belongs: into a line, or nowhere.
func (d *queue) place(f *file) {
	if f.busy {
		return // done places it
	}
	f.leave()
	defer d.count()
	if !d.reported || !d.listed[f.ref.Kind()] {
		return // start or sawAll places it
	}
	now, v := time.Now(), f.judge()
	if v == same {
		f.since, f.late = time.Time{}, false
		if !f.kept() {
			delete(d.files, f.ref)
		}
		return
	}
	if f.since.IsZero() {
		f.since, f.started = now, f.late
	}
	if v == behind || f.gone {
		return
	}
	f.due = f.hold(v.due(f, now), now)
	d.waiting.add(f)
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// job is one object to be written.
type job struct {
	*statusKind
	ref   model.ObjectRef
	blank *sight // the object as it is, if it needs no reading
	since time.Time
}

// next waits for an object that is due. ok is false when ctx ends.
func (d *queue) next(ctx context.Context) (j job, ok bool) {
	for {
		j, pause := d.take()
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

// take hands out what is to be done about the first file that is due; if there is none, its kind is nil, and pause how
// long to wait for one.
func (d *queue) take() (j job, pause time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for len(d.waiting.files) > 0 && !d.waiting.files[0].due.After(now) {
		f := d.waiting.files[0]
		f.leave()
		d.ready.add(f)
	}
	if len(d.ready.files) > 0 {
		f := d.ready.files[0]
		f.leave()
		f.busy = true
		j = job{statusKind: d.kinds[f.ref.Kind()], ref: f.ref, since: f.since}
		if f.known && f.seen.blank && f.version != 0 {
			j.blank = &sight{version: f.version, generation: f.generation, seen: digest{uid: f.seen.uid}}
		}
		return j, 0
	}
	if len(d.waiting.files) > 0 {
		return j, d.waiting.files[0].due.Sub(now)
	}
	return j, time.Hour
}

// outcome is what became of a job.
type outcome struct {
	result result
	sight  *sight        // the object after it, if that is known
	want   digest        // what was wanted when it was done
	retry  time.Duration // not before
}

// done takes a job back.
func (d *queue) done(ref model.ObjectRef, o outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[ref]
	f.busy, f.late = false, f.late && o.result == away
	if o.sight != nil && (o.sight.version == 0 || o.sight.version >= f.version) {
		f.look(*o.sight)
	}
	switch o.result {
	case written:
		if f.said != o.want.sum() {
			f.repairs = 0
		} else if f.repairs < 250 {
			f.repairs++
		}
		f.wrote, f.said, f.fails, f.blocked = time.Now(), o.want.sum(), 0, time.Time{}
		f.settled = mix(o.sight.seen.sum(), o.want.sum())
		f.since = time.Time{}
	case unchanged, stale:
		if o.result == unchanged && o.sight != nil {
			f.settled = mix(o.sight.seen.sum(), o.want.sum())
		}
		if v := f.judge(); v != same && v != behind && f.want.sum() == o.want.sum() {
			f.putOff(0) // what is known of it is wrong: asking at once would find the same
		} else {
			f.fails, f.blocked = 0, time.Time{}
		}
	case gone:
		f.vanish()
	case failed, refused:
		f.putOff(o.retry)
	case away: // the writer waits
	}
	d.place(f)
}

func (d *queue) count() { d.metrics.queue.Set(float64(len(d.waiting.files) + len(d.ready.files))) }
