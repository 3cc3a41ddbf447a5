package explain

import (
	"fmt"
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// Reached is what became of a field of a policy.
type Reached struct {
	Field   string   `json:"field"`
	Value   string   `json:"value"`
	InForce []string `json:"inForce,omitempty"` // where it counts
	Lost    []string `json:"lost,omitempty"`    // where another one counts, and which
}

func (q *asked) reached(ref model.ObjectRef) (list []Reached) {
	for _, r := range q.world.Policies.Reach(q.view, ref) {
		list = append(list, Reached{r.Field, plain(r.Value), r.InForce, r.Lost})
	}
	return list
}

// reached prints what became of a policy's fields.
func (p *page) reached(list []Reached) {
	for i, r := range list {
		heading := ""
		if i == 0 {
			heading = "fields"
		}
		p.line(heading, "%s: %s", r.Field, r.Value)
		if len(r.InForce) > 0 {
			p.line("", "  counts for %s, and for what is below and states nothing else", few(r.InForce))
		}
		if len(r.Lost) > 0 {
			p.line("", "  superseded for %s", few(r.Lost))
		}
	}
}

// untaken tells whether the listener is there and no rule takes the request.
func (s *Story) untaken() bool {
	return len(s.Rules) == 0 && s.Closed == "" && s.Refused == "" && !s.Undecided
}

// few lists the first of many.
func few(list []string) string {
	text := strings.Join(list[:min(len(list), nearest)], "; ")
	if more := len(list) - nearest; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
