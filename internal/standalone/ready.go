package standalone

import (
	"context"
	"fmt"
	"sync/atomic"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/world"
)

// readiness says when the first whole configuration is live. Once ready, it stays so.
type readiness struct {
	ready atomic.Bool
	why   atomic.Pointer[string]
}

func newReadiness() *readiness {
	r := &readiness{}
	r.wait("the folder has not been read yet")
	return r
}

func (r *readiness) wait(why string) { r.why.Store(&why) }

// state is whether it is ready, and if not, what it waits for.
func (r *readiness) state() (bool, string) {
	if r.ready.Load() {
		return true, ""
	}
	return false, *r.why.Load()
}

// follow waits until every Gateway's proxies have acknowledged a whole configuration.
func (r *readiness) follow(ctx context.Context, w *world.World) error {
	for range w.Graph.Watch(ctx) {
		if r.ready.Load() {
			continue
		}
		waiting, first := 0, ""
		w.Graph.View(func(v flow.View) {
			for ref := range flow.All(v, w.Plan.Gateways) {
				if p, _ := flow.Get(v, w.Feedback.Proxies.Collection(), ref); p.Connected == 0 || p.Acknowledged < p.Connected {
					waiting++
					first = ref.String()
				}
			}
		})
		if waiting == 0 {
			r.ready.Store(true)
			continue
		}
		r.wait(fmt.Sprintf("%d Gateways, such as %s, wait for their proxy to acknowledge its configuration", waiting, first))
	}
	return nil
}
