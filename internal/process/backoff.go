package process

import (
	"math/rand/v2"
	"time"
)

// Backoff says how long to wait before the next start: Min after the first failure, twice as long after each further
// one, Max at most. A run that lasted Reset or longer ends a row of failures. Zero fields are 200 ms, 30 s and 60 s.
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

// delay is the wait after this many failures in a row before the last one. A quarter of it is left to chance, so that
// children that failed together don't start together for ever.
func (b Backoff) delay(failures int) time.Duration {
	d := b.Min
	for ; failures > 0 && d < b.Max; failures-- {
		d *= 2
	}
	d = min(d, b.Max)
	return d - rand.N(d/4+1)
}
