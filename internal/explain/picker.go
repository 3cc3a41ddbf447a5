package explain

import (
	"fmt"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/plan"
)

// picker tells who chooses an endpoint of a backend; "": it is no inference pool.
func (q *asked) picker(key plan.BackendKey) string {
	b, _ := flow.Get(q.view, q.world.Plan.Backends, key)
	among := fmt.Sprintf("among %d endpoints", len(b.Endpoints))
	if len(b.Endpoints) == 1 {
		among = "of one endpoint"
	}
	switch {
	case b.Pool == nil:
		return ""
	case !b.Pool.Picked():
		return fmt.Sprintf("nobody picks: %s, the one with the fewest requests gets it", among)
	case b.Pool.FailOpen:
		return fmt.Sprintf("chosen by the picker %s %s; while it does not answer, the proxy chooses", b.Pool.Picker.Words(),
			among)
	}
	return fmt.Sprintf("chosen by the picker %s %s; while it does not answer, requests get 503", b.Pool.Picker.Words(),
		among)
}
