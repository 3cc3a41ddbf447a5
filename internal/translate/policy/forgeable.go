package policy

import (
	"fmt"
	"net/http"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// forgeable is a header of a match that is set after the rule was chosen.
type forgeable struct {
	Match, Index int // in model.Rule.Matches, and in its Headers
	setter
}

// field is where it stands in its rule.
func (f forgeable) field() string { return fmt.Sprintf(".matches[%d].headers[%d]", f.Match, f.Index) }

// closeForgeable has a rule answer with an error that matches on a header that is set later.
func (q *routeScope) closeForgeable(p *RulePieces, place model.Place, rule model.Rule) {
	if !matchesHeaders(rule) {
		return
	}
	p.Forgeable = matched(rule, q.setters(place, rule, p))
	if len(p.Forgeable) > 0 {
		renderer := q.m.renderers[q.route.DataPlane(place.Gateway)]
		p.Closed = renderer.Error("denied/matches", http.StatusInternalServerError, q.ref)
	}
}

// matched are the headers of a rule's matches that are set.
func matched(rule model.Rule, setters []setter) (list []forgeable) {
	for i, m := range rule.Matches {
		for j, h := range m.Headers {
			at := slices.IndexFunc(setters, func(s setter) bool { return s.Header == h.Name })
			if at >= 0 {
				list = append(list, forgeable{i, j, setters[at]})
			}
		}
	}
	return list
}

// Forgeable are the findings on headers of a route's matches that clients could forge at some listeners. Their fields
// begin at the rule that Section names.
func (m *Meaning) Forgeable(
	c *flow.Ctx, ref model.ObjectRef, route model.Route, at func(model.ListenerKey) bool,
) (list []model.Finding) {
	if m.Routes == nil || !slices.ContainsFunc(route.Rules, matchesHeaders) {
		return nil
	}
	pieces, _ := flow.Fetch(c, m.Routes, ref)
	f := forger{pieces: pieces, rules: route.Rules}
	for _, place := range route.Places {
		if at(place.Listener) {
			list = append(list, f.findings(ref, place.Listener)...)
		}
	}
	return compact(list)
}

// ForgeableAt is Forgeable at one listener, for explanations.
func (m *Meaning) ForgeableAt(
	s Sight, ref model.ObjectRef, route model.Route, at model.ListenerKey,
) []model.Finding {
	pieces, _ := see(s, m.Routes, ref)
	return forger{pieces, route.Rules}.findings(ref, at)
}

func matchesHeaders(r model.Rule) bool {
	return slices.ContainsFunc(r.Matches, func(m model.Match) bool { return len(m.Headers) > 0 })
}

// forger looks for headers that clients could forge.
type forger struct {
	pieces Route
	rules  []model.Rule
}

// of are the pieces of a rule at a listener.
func (f forger) of(rule model.Rule, at model.ListenerKey) (p RulePieces) {
	list := f.pieces.at(at)
	if i := slices.IndexFunc(list, func(p RulePieces) bool { return p.Rule == rule.Key }); i >= 0 {
		p = list[i]
	}
	return p
}

// findings are those on all rules at a listener.
func (f forger) findings(ref model.ObjectRef, at model.ListenerKey) (list []model.Finding) {
	for _, rule := range f.rules {
		if !matchesHeaders(rule) {
			continue
		}
		closed := f.of(rule, at).Forgeable
		for _, h := range closed {
			list = append(list, model.Finding{
				Object: ref, Section: rule.Key.Name, Condition: "Accepted", Reason: "UnsupportedValue", Drops: true,
				Field: h.field(), Message: fmt.Sprintf("header %s tells who sent a request (%s). That is known only after "+
					"a rule is chosen, so clients would choose this one; match on something else, and let authorization of a "+
					"SecurityPolicy for the rule say who may pass", h.Header, h.setter),
			})
		}
		for _, h := range f.besides(rule, at) {
			if !slices.ContainsFunc(closed, func(c forgeable) bool { return c.Header == h.Header }) {
				list = append(list, model.Finding{
					Object: ref, Section: rule.Key.Name, Severity: model.Warning, Condition: "Accepted", Field: h.field(),
					Message: fmt.Sprintf("header %s tells other rules' backends who sent a request (%s), but here it is what the "+
						"client writes; match on another header, unless every client may choose this rule", h.Header, h.setter),
				})
			}
		}
	}
	return list
}

// besides are the headers of a rule's matches that are set for other rules of the route alone.
func (f forger) besides(rule model.Rule, at model.ListenerKey) (list []forgeable) {
	for _, other := range f.rules {
		if other.Key == rule.Key {
			continue
		}
		p := f.of(other, at)
		for _, h := range matched(rule, ownSetters(other, &p)) {
			if !slices.ContainsFunc(list, func(said forgeable) bool { return said.field() == h.field() }) {
				list = append(list, h)
			}
		}
	}
	return list
}
