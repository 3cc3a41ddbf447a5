package status

import "time"

// The times of the rule in the package comment.
const (
	ackPatience = 2 * time.Second
	// startPatience is for proxies that come back to a controller that has started: until then what they had acknowledged stands.
	startPatience = 30 * time.Second
	wordsPace     = time.Second
	repairPace    = time.Second // doubles with each repair
	repairMax     = 5 * time.Minute
	repairQuiet   = 2 * repairMax // after which a repair is the first one again
	failPace      = time.Second   // doubles with each failure of an object's write
	failMax       = 5 * time.Minute
	refusedPace   = time.Hour // what the API server refuses it will refuse again
)

// verdict is what to do about an object.
type verdict uint8

const (
	same   verdict = iota // the API server has it
	behind                // the object is newer than its report
	prompt                // write at once
	await                 // write with the acknowledgement, or when patience ends
	leave                 // take our entries away
	words                 // write when the pace allows
)

// judge compares what the API server has (if that is known; generation is the object's) with what is wanted.
func judge(known bool, generation int64, seen, want *digest) verdict {
	switch {
	case !known && want.claimed:
		return prompt
	case !known || seen.equal(want):
		return same
	case !want.claimed && !seen.claimed:
		return same
	case !want.claimed:
		return leave
	case generation > want.generation:
		return behind
	case seen.facts != want.facts:
		return prompt
	case want.waits(seen):
		return await
	case seen.programmed != want.programmed || seen.fields != want.fields:
		return prompt
	}
	return words
}

// due is when a file of this verdict is written.
func (v verdict) due(f *file, now time.Time) time.Time {
	switch {
	case v == await && f.started && f.want.generation == f.seen.generation:
		return f.since.Add(startPatience)
	case v == await, v == leave:
		return f.since.Add(ackPatience)
	case v == words:
		return f.wrote.Add(wordsPace)
	}
	return now
}
