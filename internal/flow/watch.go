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
