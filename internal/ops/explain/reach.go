package explain

import (
	"fmt"
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// FieldReach is what became of a field of a policy.
type FieldReach struct {
	Field   string   `json:"field"`
	Value   string   `json:"value"`
	InForce []string `json:"inForce,omitempty"` // where it counts
	Lost    []string `json:"lost,omitempty"`    // where another one counts, and which
}

func (q *inquiry) listReach(ref model.ObjectRef) (list []FieldReach) {
	for _, r := range q.world.Policies.TraceFields(q.view, ref) {
		list = append(list, FieldReach{r.Field, unquoteValue(r.Value), r.InForce, r.Lost})
	}
	return list
}

// printReach prints what became of a policy's fields.
func (p *page) printReach(list []FieldReach) {
	for i, r := range list {
		heading := ""
		if i == 0 {
			heading = "fields"
		}
		p.addLine(heading, "%s: %s", r.Field, r.Value)
		if len(r.InForce) > 0 {
			p.addLine("", "  applies to %s, and to all below that states nothing else", joinFew(r.InForce))
		}
		if len(r.Lost) > 0 {
			p.addLine("", "  superseded for %s", joinFew(r.Lost))
		}
	}
}

// hasNoRule tells whether the listener is there and no rule takes the request.
func (s *Story) hasNoRule() bool {
	return len(s.Rules) == 0 && s.Closed == "" && s.Refused == "" && !s.Undecided
}

// joinFew lists the first of many.
func joinFew(list []string) string {
	text := strings.Join(list[:min(len(list), maxNear)], "; ")
	if more := len(list) - maxNear; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
