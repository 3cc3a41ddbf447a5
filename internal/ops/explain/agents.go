package explain

import (
	"slices"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
)

// decisions are what access policies say of a request of an agent at the rule that takes it; none: nobody says who
// sends it.
func (q *asked) decisions(w *way, o request.Outcome, listener model.ListenerKey, c call) (list []request.Decision) {
	place, found := q.place(o.Rule)
	if c.Agent == nil || !found {
		return nil
	}
	agent := *c.Agent
	agent.Server = slices.ContainsFunc(place.rule.Backends, func(b model.WeightedBackend) bool { return b.MCP })
	r := c.Request
	r.Agent = &agent
	for _, p := range q.world.Policies.At(q.sight(), w.port.Key.Gateway, listener, o.Rule) {
		list = append(list, q.world.Policies.Decisions(p, r)...)
	}
	for i, b := range place.rule.Backends {
		for _, p := range q.world.Policies.AtRef(q.sight(), listener, o.Rule, i) {
			for _, d := range q.world.Policies.Decisions(p, r) {
				d.Level = b.Backend.Object.String()
				list = append(list, d)
			}
		}
	}
	return list
}

// decisions prints them, and what follows.
func (p *page) decisions(list []request.Decision) {
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
	p.line("access", "%s", verdict)
	for _, d := range list {
		p.line("", "at %s: %s: %s", d.Level, said(d), d.Words)
		for _, who := range d.Others {
			p.line("", "  it is allowed to %s", who)
		}
		for _, near := range d.Near {
			p.line("", "  nearly: %s", near)
		}
	}
}

// said is a decision in a word.
func said(d request.Decision) string {
	switch {
	case d.Undecided:
		return "undecided"
	case d.Allowed:
		return "allowed"
	}
	return "denied"
}
