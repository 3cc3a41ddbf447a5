package status

import (
	"time"

	"cardea.dev/cardea/internal/core/model"
)

// objectState is what is known of one object.
type objectState struct {
	ref model.ObjectRef

	// The object as the API server has it.
	known      bool
	version    uint64 // the resource version, 0 if it is no number
	generation int64
	seen       digest

	want digest

	differsSince time.Time // when what is wanted began to differ; zero: it does not
	foundAtStart bool      // it differed when the first look was taken
	writtenAt    time.Time // when it was last written, and what was wanted then
	writtenSum   uint64
	settled      uint64    // what is seen and wanted differ, and yet there is nothing to write: both, mixed
	notBefore    time.Time // not before
	failures     uint8     // in a row
	repairs      uint8     // in a row: times that somebody else undid what we wrote
	gone         bool      // it was not there when it was to be written

	// Where it is.
	inProgress bool // handed out
	isLate     bool // what the first look found: after what changes later
	inHeap     *stateHeap
	index      int
	due        time.Time
}

// lateDelay puts what the first look found behind what changes later, for as long.
const lateDelay = time.Minute

func (f *objectState) setSeen(s snapshot) {
	f.known, f.gone, f.version, f.generation, f.seen = true, false, s.version, s.generation, s.seen
}

// setGone: if the object is back it is another one.
func (f *objectState) setGone() {
	f.known, f.gone, f.seen, f.version = false, true, digest{}, 0
	f.writtenAt, f.repairs = time.Time{}, 0
}

func (f *objectState) judgeState() verdict {
	if f.known && f.settled == mixHashes(f.seen.sum(), f.want.sum()) {
		return upToDate
	}
	return compareDigests(f.known, f.generation, &f.seen, &f.want)
}

// rankTime is the order in which files that are due are handed out.
func (f *objectState) rankTime() time.Time {
	if f.isLate {
		return f.due.Add(lateDelay)
	}
	return f.due
}

// isNeeded tells whether a file that has nothing to be written is needed later: it is ours, or nobody's yet.
func (f *objectState) isNeeded() bool {
	return f.want.hasOurs || f.known && (f.seen.isUnwritten || f.seen.hasOurs)
}

// delayDue puts off what failed before, and what somebody else undoes.
func (f *objectState) delayDue(due, now time.Time) time.Time {
	if f.notBefore.After(due) {
		due = f.notBefore
	}
	if f.wasWritten() {
		if now.Sub(f.writtenAt) > repairQuiet {
			f.repairs = 0
		}
		if at := f.writtenAt.Add(backoffDelay(repairInterval, f.repairs, repairMax)); at.After(due) {
			due = at
		}
	}
	return due
}

// backOff has it tried again later and later, and not before.
func (f *objectState) backOff(before time.Duration) {
	f.notBefore = time.Now().Add(max(before, backoffDelay(failInterval, f.failures, failMax)))
	if f.failures < 250 {
		f.failures++
	}
}

// wasWritten tells whether what is wanted was written already.
func (f *objectState) wasWritten() bool { return !f.writtenAt.IsZero() && f.writtenSum == f.want.sum() }

// backoffDelay is d times two to the power of n, or most.
func backoffDelay(d time.Duration, n uint8, most time.Duration) time.Duration {
	for range n {
		if d *= 2; d >= most {
			return most
		}
	}
	return d
}
