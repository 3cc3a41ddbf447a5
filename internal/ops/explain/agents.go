package explain

import (
	"slices"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
)

// decideAccess are what access policies say of a request of an agent at the rule that takes it; none: nobody says who
// sends it.
func (q *inquiry) decideAccess(
	w *gatewayCandidate, o request.Outcome, listener model.ListenerKey, c parsedRequest,
) (list []request.Decision) {
	place, found := q.findRule(o.Rule)
	if c.Agent == nil || !found {
		return nil
	}
	agent := *c.Agent
	agent.Server = slices.ContainsFunc(place.rule.Backends, func(b model.WeightedBackend) bool { return b.MCP })
	r := c.Request
	r.Agent = &agent
	for _, p := range q.world.Policies.PiecesAt(q.policySnapshot(), w.port.Key.Gateway, listener, o.Rule) {
		list = append(list, q.world.Policies.DecideRequest(p, r)...)
	}
	for i, b := range place.rule.Backends {
		for _, p := range q.world.Policies.PiecesAtRef(q.policySnapshot(), listener, o.Rule, i) {
			for _, d := range q.world.Policies.DecideRequest(p, r) {
				d.Level = b.Backend.Object.String()
				list = append(list, d)
			}
		}
	}
	return list
}

// printDecisions prints them, and what follows.
func (p *page) printDecisions(list []request.Decision) {
	if len(list) == 0 {
		return
	}
	verdict := "allowed"
	for _, d := range list {
		switch {
		case d.Undecided && verdict == "allowed":
			verdict = "undecided"
		case !d.Allowed && !d.Undecided:
			verdict = "denied"
		}
	}
	p.addLine("access", "%s", verdict)
	for _, d := range list {
		p.addLine("", "at %s: %s: %s", d.Level, decisionWord(d), d.Words)
		for _, who := range d.Others {
			p.addLine("", "  it is allowed to %s", who)
		}
		for _, near := range d.Near {
			p.addLine("", "  nearly: %s", near)
		}
	}
}

// decisionWord is a decision in a word.
func decisionWord(d request.Decision) string {
	switch {
	case d.Undecided:
		return "undecided"
	case d.Allowed:
		return "allowed"
	}
	return "denied"
}
