package flow

import (
	"context"
	"iter"
)

// Watch yields the newest committed Rev, at once if there is one, and then each time it has grown, until ctx ends. A
// slow consumer skips the Revs that it missed. It needs no goroutine, and holds no lock while it yields.
func (g *Graph) Watch(ctx context.Context) iter.Seq[Rev] {
	return func(yield func(Rev) bool) {
		var seen Rev
		for ctx.Err() == nil {
			g.mu.RLock()
			rev, grown := g.rev, g.grown
			g.mu.RUnlock()
			if rev > seen {
				seen = rev
				if !yield(rev) {
					return
				}
				continue
			}
			select {
			case <-ctx.Done():
			case <-grown:
			}
		}
	}
}

// Notify is Watch for a consumer that waits for other events, too: a value tells that there are turns that it has not
// seen. It is closed when ctx ends.
func (g *Graph) Notify(ctx context.Context) <-chan struct{} {
	turns := make(chan struct{}, 1)
	go func() {
		defer close(turns)
		for range g.Watch(ctx) {
			select {
			case turns <- struct{}{}:
			default:
			}
		}
	}()
	return turns
}
