package policy

import (
	"fmt"
	"net/http"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// forgeableHeader is a header of a match that is set after the rule was chosen.
type forgeableHeader struct {
	Match, Index int // in model.Rule.Matches, and in its Headers
	headerSetter
}

// fieldPath is where it stands in its rule.
func (f forgeableHeader) fieldPath() string {
	return fmt.Sprintf(".matches[%d].headers[%d]", f.Match, f.Index)
}

// closeForgeable has a rule answer with an error that matches on a header that is set later.
func (q *routeScope) closeForgeable(p *RulePieces, place model.RouteListener, rule model.Rule) {
	if !matchesHeaders(rule) {
		return
	}
	p.Forgeable = matchSetters(rule, q.headerSetters(place, rule, p))
	if len(p.Forgeable) > 0 {
		renderer := q.m.renderers[q.route.DataPlaneOf(place.Gateway)]
		p.Closed = renderer.RenderError("denied/matches", http.StatusInternalServerError, q.ref)
	}
}

// matchSetters are the headers of a rule's matches that are set.
func matchSetters(rule model.Rule, setters []headerSetter) (list []forgeableHeader) {
	for i, m := range rule.Matches {
		for j, h := range m.Headers {
			at := slices.IndexFunc(setters, func(s headerSetter) bool { return s.Header == h.Name })
			if at >= 0 {
				list = append(list, forgeableHeader{i, j, setters[at]})
			}
		}
	}
	return list
}

// ForgeableFindings are the findings on headers of a route's matches that clients could forge at some listeners. Their
// fields begin at the rule that Section names.
func (m *Translator) ForgeableFindings(
	c *flow.Ctx, ref model.ObjectRef, route model.Route, at func(model.ListenerKey) bool,
) (list []model.Finding) {
	if m.Routes == nil || !slices.ContainsFunc(route.Rules, matchesHeaders) {
		return nil
	}
	pieces, _ := flow.Fetch(c, m.Routes, ref)
	f := forgeryFinder{pieces: pieces, rules: route.Rules}
	for _, place := range route.Listeners {
		if at(place.Listener) {
			list = append(list, f.findAt(ref, place.Listener)...)
		}
	}
	return dropDuplicates(list)
}

// ForgeableFindingsAt is Forgeable at one listener, for explanations.
func (m *Translator) ForgeableFindingsAt(
	s Snapshot, ref model.ObjectRef, route model.Route, at model.ListenerKey,
) []model.Finding {
	pieces, _ := lookUp(s, m.Routes, ref)
	return forgeryFinder{pieces, route.Rules}.findAt(ref, at)
}

func matchesHeaders(r model.Rule) bool {
	return slices.ContainsFunc(r.Matches, func(m model.Match) bool { return len(m.Headers) > 0 })
}

// forgeryFinder looks for headers that clients could forge.
type forgeryFinder struct {
	pieces RoutePieces
	rules  []model.Rule
}

// piecesOf are the pieces of a rule at a listener.
func (f forgeryFinder) piecesOf(rule model.Rule, at model.ListenerKey) (p RulePieces) {
	list := f.pieces.rulesAt(at)
	if i := slices.IndexFunc(list, func(p RulePieces) bool { return p.Rule == rule.Key }); i >= 0 {
		p = list[i]
	}
	return p
}

// findAt are those on all rules at a listener.
func (f forgeryFinder) findAt(ref model.ObjectRef, at model.ListenerKey) (list []model.Finding) {
	for _, rule := range f.rules {
		if !matchesHeaders(rule) {
			continue
		}
		closed := f.piecesOf(rule, at).Forgeable
		for _, h := range closed {
			list = append(list, model.Finding{
				Object: ref, Section: rule.Key.Name, Condition: "Accepted", Reason: "UnsupportedValue", Drops: true,
				Field: h.fieldPath(), Message: fmt.Sprintf("header %s identifies the client (%s), but is set only after a rule "+
					"is chosen, so any client could choose this rule; match on something else, and state in authorization of a "+
					"SecurityPolicy for the rule who may pass", h.Header, h.headerSetter),
			})
		}
		for _, h := range f.setForOthers(rule, at) {
			if !slices.ContainsFunc(closed, func(c forgeableHeader) bool { return c.Header == h.Header }) {
				list = append(list, model.Finding{
					Object: ref, Section: rule.Key.Name, Severity: model.Warning, Condition: "Accepted", Field: h.fieldPath(),
					Message: fmt.Sprintf("header %s identifies the client to backends of other rules (%s), but here the client "+
						"itself sets it; match on another header, unless every client may choose this rule", h.Header, h.headerSetter),
				})
			}
		}
	}
	return list
}

// setForOthers are the headers of a rule's matches that are set for other rules of the route alone.
func (f forgeryFinder) setForOthers(rule model.Rule, at model.ListenerKey) (list []forgeableHeader) {
	for _, other := range f.rules {
		if other.Key == rule.Key {
			continue
		}
		p := f.piecesOf(other, at)
		for _, h := range matchSetters(rule, ownSetters(other, &p)) {
			if !slices.ContainsFunc(list, func(said forgeableHeader) bool { return said.fieldPath() == h.fieldPath() }) {
				list = append(list, h)
			}
		}
	}
	return list
}
