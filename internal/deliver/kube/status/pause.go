package status

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// pause keeps everyone from asking an API server that does not answer.
type pause struct {
	mu       sync.Mutex
	failures uint8
	until    time.Time
}

const (
	pauseMin = 100 * time.Millisecond // doubles
	pauseMax = 2 * time.Second
)

// recordResult takes what the last write met, and how long the API server wants to be left alone.
func (p *pause) recordResult(r result, least time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r != unavailable {
		p.failures = 0
		return
	}
	if now := time.Now(); !now.Before(p.until) { // what was under way together counts once
		p.until = now.Add(max(least, time.Duration((0.8+0.4*rand.Float64())*float64(backoffDelay(pauseMin, p.failures,
			pauseMax)))))
		p.failures = min(p.failures+1, 250)
	}
}

func (p *pause) isPaused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failures > 0
}

// wait returns when the pause is over, false if ctx is.
func (p *pause) wait(ctx context.Context) bool {
	p.mu.Lock()
	left := time.Until(p.until)
	p.mu.Unlock()
	if left <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(left):
		return true
	}
}
