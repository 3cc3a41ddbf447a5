package process

import (
	"math/rand/v2"
	"time"
)

// Backoff is how long to wait before the next start: Min after the first failure, twice as long after each further one,
// Max at most. After a run of Reset or longer, the count of failures begins again. Zero fields mean 200 ms, 30 s and 60
// s.
type Backoff struct {
	Min, Max, Reset time.Duration
}

func (b Backoff) withDefaults() Backoff {
	if b.Min == 0 {
		b.Min = 200 * time.Millisecond
	}
	if b.Max == 0 {
		b.Max = 30 * time.Second
	}
	if b.Reset == 0 {
		b.Reset = 60 * time.Second
	}
	return b
}

// nextDelay is the wait after a failure that follows this many others. A quarter of it is random, so that children that
// failed at the same time don't always start at the same time.
func (b Backoff) nextDelay(failures int) time.Duration {
	d := b.Min
	for ; failures > 0 && d < b.Max; failures-- {
		d *= 2
	}
	d = min(d, b.Max)
	return d - rand.N(d/4+1)
}
