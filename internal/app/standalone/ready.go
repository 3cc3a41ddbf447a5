package standalone

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/source/files"
)

// readiness says whether the first complete configuration is live. Once ready, it stays ready.
type readiness struct {
	world        *world.World
	source       objectSource
	liveGateways func() map[model.ObjectRef]bool // Gateways with a proxy that reads files, and serves
	ready        atomic.Bool
}

// checkReady is whether it is ready, and if not, what is missing. If it is, it tells what is closed: that is live as it
// has to be, and to start the program again would not open it.
func (r *readiness) checkReady() (bool, string) {
	if !r.ready.Load() {
		if why := r.whyNotReady(); why != "" {
			return false, why
		}
		r.ready.Store(true)
	}
	return true, describeClosed(r.source.Problems())
}

// describeClosed tells what is closed, a line for each object that can't be read; "": nothing.
func describeClosed(problems []files.Problem) string {
	var lines []string
	for _, p := range problems {
		if p.Closes && p.Severity == model.Error {
			lines = append(lines, "closed: "+model.EscapeUnprintable(p.String()))
		}
	}
	return strings.Join(lines, "\n")
}

// whyNotReady says why the first configuration is not live yet: the objects must have been read, and every Gateway's
// proxies must have acknowledged a complete configuration, or serve what they read.
func (r *readiness) whyNotReady() string {
	if !r.source.HasLoaded() {
		if problems := r.source.Problems(); len(problems) > 0 {
			return problems[0].String()
		}
		return "the objects have not been read yet"
	}
	r.world.Graph.Settle() // so that what was read is in the graph
	live, waiting := r.liveGateways(), 0
	var first model.ObjectRef
	r.world.Graph.View(func(v flow.View) {
		for ref, g := range flow.All(v, r.world.Plan.Gateways) {
			serves := hasAcknowledged(v, r.world, ref)
			if g.DataPlane.ReadsFiles {
				serves = live[ref]
			}
			if !serves {
				if waiting == 0 || ref.Compare(first) < 0 {
					first = ref
				}
				waiting++
			}
		}
	})
	switch waiting {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("the proxy of %s has not acknowledged its configuration yet", first)
	}
	return fmt.Sprintf("the proxies of %d Gateways, the first of them %s, have not acknowledged their configuration yet",
		waiting, first)
}

// hasAcknowledged tells whether a Gateway's proxies have acknowledged a complete configuration.
func hasAcknowledged(v flow.View, w *world.World, gateway model.ObjectRef) bool {
	p, _ := flow.Get(v, w.Feedback.Proxies.Collection(), gateway)
	return p.Connected > 0 && p.Acknowledged == p.Connected
}

// watchReady checks after every turn, so that readiness is noticed even if nobody asks.
func (r *readiness) watchReady(ctx context.Context) error {
	for range r.world.Graph.Watch(ctx) {
		if ready, _ := r.checkReady(); ready {
			world.SaveMemory()
			return nil
		}
	}
	return nil
}
