package status

import (
	"time"

	"cardea.dev/cardea/internal/core/model"
)

// file is what is known of one object.
type file struct {
	ref model.ObjectRef

	// The object as the API server has it.
	known      bool
	version    uint64 // the resource version, 0 if it is no number
	generation int64
	seen       digest

	want digest

	since   time.Time // when what is wanted began to differ; zero: it does not
	started bool      // it differed when the first look was taken
	wrote   time.Time // when it was last written, and what was wanted then
	said    uint64
	settled uint64    // what is seen and wanted differ, and yet there is nothing to write: both, mixed
	blocked time.Time // not before
	fails   uint8     // in a row
	repairs uint8     // in a row: times that somebody else undid what we wrote
	gone    bool      // it was not there when it was to be written

	// Where it is.
	busy  bool // handed out
	late  bool // what the first look found: after what changes later
	line  *line
	index int
	due   time.Time
}

// lateness puts what the first look found behind what changes later, for as long.
const lateness = time.Minute

func (f *file) look(s sight) {
	f.known, f.gone, f.version, f.generation, f.seen = true, false, s.version, s.generation, s.seen
}

// vanish: if the object is back it is another one.
func (f *file) vanish() {
	f.known, f.gone, f.seen, f.version = false, true, digest{}, 0
	f.wrote, f.repairs = time.Time{}, 0
}

func (f *file) judge() verdict {
	if f.known && f.settled == mix(f.seen.sum(), f.want.sum()) {
		return same
	}
	return judge(f.known, f.generation, &f.seen, &f.want)
}

// rank is the order in which files that are due are handed out.
func (f *file) rank() time.Time {
	if f.late {
		return f.due.Add(lateness)
	}
	return f.due
}

// kept tells whether a file that has nothing to be written is needed later: it is ours, or nobody's yet.
func (f *file) kept() bool { return f.want.claimed || f.known && (f.seen.blank || f.seen.claimed) }

// hold puts off what failed before, and what somebody else undoes.
func (f *file) hold(due, now time.Time) time.Time {
	if f.blocked.After(due) {
		due = f.blocked
	}
	if f.undone() {
		if now.Sub(f.wrote) > repairQuiet {
			f.repairs = 0
		}
		if at := f.wrote.Add(doubled(repairPace, f.repairs, repairMax)); at.After(due) {
			due = at
		}
	}
	return due
}

// putOff has it tried again later and later, and not before.
func (f *file) putOff(before time.Duration) {
	f.blocked = time.Now().Add(max(before, doubled(failPace, f.fails, failMax)))
	if f.fails < 250 {
		f.fails++
	}
}

// undone tells whether what is wanted was written already.
func (f *file) undone() bool { return !f.wrote.IsZero() && f.said == f.want.sum() }

// doubled is d times two to the power of n, or most.
func doubled(d time.Duration, n uint8, most time.Duration) time.Duration {
	for range n {
		if d *= 2; d >= most {
			return most
		}
	}
	return d
}
