package policy

import (
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// methodsBy has the routes where a method of authentication is stated more narrowly than at a listener.
func (m *Translator) methodsBy() *flow.Collection[model.Kind, flow.Members[settingsKey, notedNeeds]] {
	return flow.Group(m.notedNeeds, "policy/routes-with-methods", func(_ settingsKey, n notedNeeds) []model.Kind {
		if len(n.Methods) == 0 {
			return nil
		}
		return []model.Kind{model.KindSecurityPolicy}
	}, flow.ByKey)
}

// isAuthMethod tells whether a method of authentication is in force.
func (p RulePiece) isAuthMethod() bool {
	return p.Kind == model.KindSecurityPolicy && p.JSON != "" && slices.Contains(extend.Methods, p.Feature)
}

// unidentifiedFindings are the findings on fields that depend on who sent a request, if no rule that the policy reaches
// finds that out. A field that has another error gets no such finding.
func (r reporter) unidentifiedFindings(
	c *flow.Ctx, ref model.ObjectRef, p *policy, before []model.Finding,
) (list []model.Finding) {
	kind, _ := r.Store.FindKind(ref.Kind())
	for _, f := range kind.Features {
		spec, states := p.featureSpec(f.Name)
		if f.Identified == nil || !states {
			continue
		}
		fields := f.Identified([]byte(spec))
		if len(fields) == 0 {
			continue
		}
		known, reached := r.methodsReached(c, ref, f.Name)
		for _, field := range fields {
			at := fieldOf(f.Name, field.Field)
			wrong := slices.ContainsFunc(before, func(b model.Finding) bool {
				return b.Severity == model.Error && strings.HasPrefix(b.Field, at)
			})
			if wrong || !reached || slices.ContainsFunc(field.MethodNames(), func(m string) bool { return known[m] }) {
				continue
			}
			list = append(list, model.Finding{
				Object: ref, Severity: model.Warning, Field: at, Message: fmt.Sprintf(
					"no rule that the policy reaches authenticates clients, so %s; state %s in a SecurityPolicy",
					field.Otherwise, field.DescribeMethods()),
			})
		}
	}
	return list
}

// methodsReached are the methods of authentication of the rules that get a feature from a policy; reached: there is
// such a rule, or a Gateway with the feature for its rules.
func (r reporter) methodsReached(
	c *flow.Ctx, ref model.ObjectRef, feature string,
) (known map[string]bool, reached bool) {
	known = map[string]bool{}
	members, _ := flow.Fetch(c, r.placeReports, ref)
	for k, t := range members.All() {
		if !slices.Contains(t.Counts, ref) {
			continue
		}
		switch {
		case k.Route != model.ObjectRef{}:
			reached = true
			pieces, _ := flow.Fetch(c, r.Routes, k.Route)
			for rule, p := range pieces.allPieces() {
				if p.Feature == feature && slices.ContainsFunc(p.Fields,
					func(f EffectiveField) bool { return f.From.Policy == ref }) {
					r.methodsOfRule(c, k.Route, rule, known)
				}
			}
		case k.Level.Gateway != model.ObjectRef{}:
			reached = true
			r.methodsOfGateway(c, k.Level.Gateway, known)
		}
	}
	return known, reached
}

// methodsOfRule adds the methods of a rule, wherever it serves.
func (r reporter) methodsOfRule(c *flow.Ctx, ref model.ObjectRef, rule model.RuleKey, known map[string]bool) {
	route, _ := flow.Fetch(c, r.inputs.Plan.Routes, ref)
	pieces, _ := flow.Fetch(c, r.Routes, ref)
	for _, place := range route.Listeners {
		own := rulePieces(pieces.rulesAt(place.Listener), rule)
		for _, method := range extend.Methods {
			if stated := piecesOf(own, model.KindSecurityPolicy, method); len(stated) > 0 {
				known[method] = known[method] || slices.ContainsFunc(stated, func(p RulePiece) bool { return p.JSON != "" })
				continue
			}
			known[method] = known[method] || r.methodAt(c, place.Gateway, place.Listener.Level(place.Gateway), method)
		}
	}
}

// methodAt tells whether a method is in force at a listener.
func (r reporter) methodAt(c *flow.Ctx, gateway model.ObjectRef, section, method string) bool {
	l, stated := flow.Fetch(c, r.Levels, LevelKey{gateway, section, model.KindSecurityPolicy, method})
	if !stated {
		l, _ = flow.Fetch(c, r.Levels, LevelKey{gateway, "", model.KindSecurityPolicy, method})
	}
	return l.Piece.JSON != ""
}

// methodsOfGateway adds those of a Gateway, of its listeners, and of the routes there.
func (r reporter) methodsOfGateway(c *flow.Ctx, gateway model.ObjectRef, known map[string]bool) {
	levels, _ := flow.Fetch(c, r.levelsByGateway, gateway)
	for k, l := range levels.All() {
		if (RulePiece{k.Kind, l.Piece}).isAuthMethod() {
			known[k.Feature] = true
		}
	}
	routes, _ := flow.Fetch(c, r.methods, model.KindSecurityPolicy)
	for at, n := range routes.All() {
		route, _ := flow.Fetch(c, r.inputs.Plan.Routes, at.Route)
		if !slices.ContainsFunc(route.Listeners, func(p model.RouteListener) bool { return p.Gateway == gateway }) {
			continue
		}
		for _, method := range n.Methods {
			known[method] = true
		}
	}
}
