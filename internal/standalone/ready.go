package standalone

import (
	"context"
	"fmt"
	"sync/atomic"

	"cardea.dev/cardea/internal/files"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/world"
)

// readiness says when the first whole configuration is live. Once ready, it stays so.
type readiness struct {
	world  *world.World
	folder *files.Folder
	ready  atomic.Bool
}

// state is whether it is ready, and if not, what it waits for.
func (r *readiness) state() (bool, string) {
	if r.ready.Load() {
		return true, ""
	}
	why := r.missing()
	if why == "" {
		r.ready.Store(true)
	}
	return why == "", why
}

// missing is what keeps the first configuration from being live: the folder must have been read, and every Gateway's
// proxies must have acknowledged a whole configuration.
func (r *readiness) missing() string {
	if !r.folder.Loaded() {
		if problems := r.folder.Problems(); len(problems) > 0 {
			return problems[0].String()
		}
		return "the folder was not read yet"
	}
	r.world.Graph.Settle() // what was read from it counts
	waiting := 0
	var first model.ObjectRef
	r.world.Graph.View(func(v flow.View) {
		for ref := range flow.All(v, r.world.Plan.Gateways) {
			if p, _ := flow.Get(v, r.world.Feedback.Proxies.Collection(), ref); p.Connected == 0 ||
				p.Acknowledged < p.Connected {
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
		return fmt.Sprintf("%s waits for its proxy to acknowledge its configuration", first)
	}
	return fmt.Sprintf("%d Gateways, the first of them %s, wait for their proxies to acknowledge their configuration",
		waiting, first)
}

// follow looks after every turn, so that what was ready once is so though nobody asked then.
func (r *readiness) follow(ctx context.Context) error {
	for range r.world.Graph.Watch(ctx) {
		if ready, _ := r.state(); ready {
			world.SaveMemory()
			return nil
		}
	}
	return nil
}
