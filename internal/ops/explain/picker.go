package explain

import (
	"fmt"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/request"
)

// describePicker tells who chooses an endpoint of a backend, and whether Cardea runs it; "": it is no inference pool.
func (q *inquiry) describePicker(key plan.BackendKey) (words string, own bool) {
	b, _ := flow.Get(q.view, q.world.Plan.Backends, key)
	among := fmt.Sprintf("among %d endpoints", len(b.Endpoints))
	if len(b.Endpoints) == 1 {
		among = "of one endpoint"
	}
	if b.Pool == nil {
		return "", false
	}
	if !b.Pool.HasPicker() {
		return fmt.Sprintf("there is no picker: %s, the one with the fewest requests gets it", among), false
	}
	who, otherwise := "Cardea's picker", "requests get 503"
	if !b.Pool.Own {
		who = "the picker " + b.Pool.Picker.Describe()
	}
	if b.Pool.FailOpen {
		otherwise = "the proxy chooses"
	}
	return fmt.Sprintf("chosen by %s %s; while it does not answer, %s", who, among, otherwise), b.Pool.Own
}

// describeStandby tells of a pool, and of the backend that gets its requests while no pod is ready, why this one gets
// the request; "": it is neither.
func (q *inquiry) describeStandby(o request.Outcome) string {
	place, _ := q.findRule(o.Rule)
	for _, b := range place.rule.Backends {
		switch {
		case b.Backend != o.Backend || b.Standby == nil:
		case b.Standby.Pool == nil:
			return fmt.Sprintf("while none is ready, %s gets the requests (%s)", b.Standby.Backend.Describe(), b.Standby.Policy)
		default:
			return fmt.Sprintf("instead of %s, which has no ready pod (%s, spec.failover)", b.Standby.Backend.Describe(),
				b.Standby.Policy)
		}
	}
	return ""
}
