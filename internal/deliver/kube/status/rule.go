package status

import "time"

// The times of the rule in the package comment.
const (
	ackTimeout = 2 * time.Second
	// startTimeout is for proxies that come back to a controller that has started: until then what they had acknowledged
	// stands.
	startTimeout = 30 * time.Second
	// goodNewsDelay is for other conditions that turned beside: what is well can wait for a moment, what is wrong for the
	// blink of an eye.
	goodNewsDelay   = time.Second
	badNewsDelay    = 100 * time.Millisecond
	textInterval    = time.Second
	repairInterval  = time.Second // doubles with each repair
	repairMax       = 5 * time.Minute
	repairQuiet     = 2 * repairMax // after which a repair is the first one again
	failInterval    = time.Second   // doubles with each failure of an object's write
	failMax         = 5 * time.Minute
	refusedInterval = time.Hour // what the API server refuses it will refuse again
)

// verdict is what to do about an object.
type verdict uint8

const (
	upToDate      verdict = iota // the API server has it
	behind                       // the object is newer than its report, or another one
	writeNow                     // write at once
	awaitAcks                    // write with the acknowledgement with what else is waited for, or after a timeout
	removeEntries                // take our entries away
	writePaced                   // write when the pace allows
)

// compareDigests compares what the API server has (if that is known; generation is the object's) with what is wanted.
func compareDigests(known bool, generation int64, seen, want *digest) verdict {
	switch {
	case !known && !want.hasOurs, known && seen.sameAs(want):
		return upToDate
	case !want.hasOurs && !seen.hasOurs:
		return upToDate
	case !want.hasOurs:
		return removeEntries
	case known && (generation > want.generation || seen.isOtherObject(want)):
		return behind
	case want.tentative, want.waitsMoreThan(seen):
		return awaitAcks
	case !known || seen.facts != want.facts || seen.programmed != want.programmed || seen.fields != want.fields:
		return writeNow
	}
	return writePaced
}

// dueTime is when a file of this verdict is written.
func (v verdict) dueTime(f *objectState, now time.Time) time.Time {
	switch {
	case v == awaitAcks:
		return f.differsSince.Add(f.ackWait())
	case v == removeEntries:
		return f.differsSince.Add(ackTimeout)
	case v == writePaced && f.foundAtStart: // proxies come back one after the other, and the last one may say what stands
		return f.differsSince.Add(startTimeout)
	case v == writePaced:
		return f.writtenAt.Add(textInterval)
	}
	return now
}

// ackWait is how long the acknowledgement is waited for.
func (f *objectState) ackWait() time.Duration {
	switch {
	case f.foundAtStart && f.want.tentative:
		return startTimeout
	case f.seen.facts != f.want.facts && f.want.hasErrors:
		return badNewsDelay
	case f.seen.facts != f.want.facts:
		return goodNewsDelay
	case f.foundAtStart && f.want.generation == f.seen.generation:
		return startTimeout
	}
	return ackTimeout
}
