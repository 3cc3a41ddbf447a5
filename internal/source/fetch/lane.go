package fetch

import (
	"context"
	"slices"
	"sync"
)

// lane lets a number of requests be under way at once, and of each namespace at most a part of them. Next is always one
// of the namespace that has the fewest under way; among those, the one that has waited longest. So a namespace waits
// for its own requests, and for others' only while all that may be under way are.
type lane struct {
	perNamespace int // requests of a namespace

	mu       sync.Mutex
	free     int // further requests of anybody
	underway map[string]int
	waiting  []*queuedRequest // the longest first
}

// queuedRequest is a request.
type queuedRequest struct {
	namespaces       []string // one of these namespaces must have it under way
	chargedNamespace string   // the namespace for which it is under way
	begun            chan struct{}
}

func newLane(all, each int) *lane {
	return &lane{perNamespace: each, free: all, underway: map[string]int{}}
}

// enter waits until a request that namespaces want may begin. leave must be called when it has ended.
func (l *lane) enter(ctx context.Context, namespaces []string) (leave func(), err error) {
	t := &queuedRequest{namespaces: namespaces, begun: make(chan struct{})}
	l.updateQueue(func() { l.waiting = append(l.waiting, t) })
	leave = func() {
		l.updateQueue(func() {
			l.free++
			if l.underway[t.chargedNamespace]--; l.underway[t.chargedNamespace] == 0 {
				delete(l.underway, t.chargedNamespace)
			}
		})
	}
	select {
	case <-t.begun:
		return leave, nil
	case <-ctx.Done():
	}
	waits := false
	l.updateQueue(func() {
		i := slices.Index(l.waiting, t)
		if waits = i >= 0; waits {
			l.waiting = slices.Delete(l.waiting, i, i+1)
		}
	})
	if !waits {
		leave()
	}
	return nil, ctx.Err()
}

// updateQueue changes what waits or is under way, and begins what may begin then.
func (l *lane) updateQueue(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	for l.free > 0 {
		next := -1
		least := l.perNamespace
		for i, t := range l.waiting {
			t.chargedNamespace = slices.MinFunc(t.namespaces, func(a, b string) int { return l.underway[a] - l.underway[b] })
			if n := l.underway[t.chargedNamespace]; n < least {
				next, least = i, n
			}
		}
		if next < 0 {
			return
		}
		t := l.waiting[next]
		l.waiting = slices.Delete(l.waiting, next, next+1)
		l.free--
		l.underway[t.chargedNamespace]++
		close(t.begun)
	}
}
