package status

import "time"

// The times of the rule in the package comment.
const (
	ackPatience = 2 * time.Second
	// startPatience is for proxies that come back to a controller that has started: until then what they had acknowledged
	// stands.
	startPatience = 30 * time.Second
	// newsPatience is for other conditions that turned beside: what is well can wait for a moment, what is wrong for the
	// blink of an eye.
	newsPatience = time.Second
	badPatience  = 100 * time.Millisecond
	wordsPace    = time.Second
	repairPace   = time.Second // doubles with each repair
	repairMax    = 5 * time.Minute
	repairQuiet  = 2 * repairMax // after which a repair is the first one again
	failPace     = time.Second   // doubles with each failure of an object's write
	failMax      = 5 * time.Minute
	refusedPace  = time.Hour // what the API server refuses it will refuse again
)

// verdict is what to do about an object.
type verdict uint8

const (
	same   verdict = iota // the API server has it
	behind                // the object is newer than its report, or another one
	prompt                // write at once
	await                 // write with the acknowledgement or with what else is waited for, or when patience ends
	leave                 // take our entries away
	words                 // write when the pace allows
)

// judge compares what the API server has (if that is known; generation is the object's) with what is wanted.
func judge(known bool, generation int64, seen, want *digest) verdict {
	switch {
	case !known && !want.claimed, known && seen.equal(want):
		return same
	case !want.claimed && !seen.claimed:
		return same
	case !want.claimed:
		return leave
	case known && (generation > want.generation || seen.another(want)):
		return behind
	case want.tentative, want.waits(seen):
		return await
	case !known || seen.facts != want.facts || seen.programmed != want.programmed || seen.fields != want.fields:
		return prompt
	}
	return words
}

// due is when a file of this verdict is written.
func (v verdict) due(f *file, now time.Time) time.Time {
	switch {
	case v == await:
		return f.since.Add(f.patience())
	case v == leave:
		return f.since.Add(ackPatience)
	case v == words && f.started: // proxies come back one after the other, and the last one may say what stands
		return f.since.Add(startPatience)
	case v == words:
		return f.wrote.Add(wordsPace)
	}
	return now
}

// patience is how long the acknowledgement is waited for.
func (f *file) patience() time.Duration {
	switch {
	case f.started && f.want.tentative:
		return startPatience
	case f.seen.facts != f.want.facts && f.want.bad:
		return badPatience
	case f.seen.facts != f.want.facts:
		return newsPatience
	case f.started && f.want.generation == f.seen.generation:
		return startPatience
	}
	return ackPatience
}
