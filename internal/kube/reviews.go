package kube

import (
	"crypto/sha256"
	"sync"
	"time"
)

// reviewKey is the hash of a token: tokens themselves are not kept.
type reviewKey = [sha256.Size]byte

// review is what the API server said of a token.
type review struct {
	account Account
	err     error
	until   time.Time // it need not be asked again
	ends    time.Time // the token; zero: never
}

// reviews remembers a bounded number of them. Any goroutine may use it.
type reviews struct {
	mu sync.Mutex
	of map[reviewKey]*remembered
}

type remembered struct {
	review
	used time.Time
}

func newReviews() *reviews { return &reviews{of: map[reviewKey]*remembered{}} }

// get is what is remembered of a token that has not ended.
func (m *reviews) get(key reviewKey, now time.Time) (review, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.of[key]
	if r == nil || r.over(now) {
		return review{}, false
	}
	r.used = now
	return r.review, true
}

// put remembers a review. If there are too many, those that ended go, or else a refused one, or the one that was not
// used for longest.
func (m *reviews) put(key reviewKey, r review, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of[key] == nil && len(m.of) >= maxReviews {
		m.makeRoom(now)
	}
	m.of[key] = &remembered{r, now}
}

func (m *reviews) makeRoom(now time.Time) {
	var victim reviewKey
	var worst *remembered
	for key, r := range m.of {
		if r.over(now) {
			delete(m.of, key)
		} else if worst == nil || r.goesBefore(worst) {
			victim, worst = key, r
		}
	}
	if len(m.of) >= maxReviews {
		delete(m.of, victim)
	}
}

// goesBefore: who sends garbage must not drive out those who are known.
func (r *remembered) goesBefore(o *remembered) bool {
	if refused := r.err != nil; refused != (o.err != nil) {
		return refused
	}
	return r.used.Before(o.used)
}

func (r review) over(now time.Time) bool { return !r.ends.IsZero() && !now.Before(r.ends) }
