package policy

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// withoutTLS are the findings on features that have no effect, since no listener that a policy reaches has TLS. A
// statement for a listener is refused where ports are read (portScope.withoutTLS). A policy on a GatewayClass is for
// Gateways to come, too: it is only warned.
func (r reporter) withoutTLS(c *flow.Ctx, ref model.ObjectRef, p *policy, targets []Target) (list []model.Finding) {
	kind, _ := r.Store.FindKind(ref.Kind())
	var stated []*Feature
	for _, f := range kind.Features {
		if _, states := p.featureSpec(f.Name); states && f.TLSOnly {
			stated = append(stated, f)
		}
	}
	if len(stated) == 0 {
		return nil
	}
	var reached []model.Gateway
	var whole []string // the Gateways that are targeted as a whole
	severity := model.Warning
	for _, t := range targets {
		for _, g := range r.gatewaysOf(c, ref, t) {
			if r.hasTLS(c, g.Ref, t.Section) {
				return nil
			}
			reached = append(reached, g)
			if name := g.Ref.NamespacedName(); t.Section == "" && !slices.Contains(whole, name) {
				whole = append(whole, name)
			}
			if t.Object.Kind() == model.KindGateway {
				severity = model.Error
			}
		}
	}
	for _, f := range stated {
		if len(whole) > 0 {
			list = append(list, model.Finding{
				Object: ref, Severity: severity, Condition: "Accepted", Reason: "Invalid", Field: fieldOf(f.Name, ""),
				Message: fmt.Sprintf("it has no effect: no listener that the policy reaches has TLS (Gateway %s); target a "+
					"Gateway with a listener of protocol HTTPS, or take it out", model.JoinSome(whole)),
			})
		}
		if len(reached) > 0 {
			list = append(list, r.unresolvedFindings(c, reached[0].DataPlane, kind, f, p.newStatement(ref, LevelGateway,
				f.Name))...)
		}
	}
	return list
}

// unresolvedFindings are the references of a statement that lead nowhere. Nobody else reads it where it has no effect.
func (r reporter) unresolvedFindings(
	c *flow.Ctx, d model.DataPlane, kind Kind, f *Feature, stated statement,
) (list []model.Finding) {
	scope := r.newScope(c, kind, d)
	scope.where.Plaintext = true
	scope.addFeature(f, []statements{{Level: stated.Level, List: []statement{stated}}})
	e := scope.merged[f.Name]
	told := &problemCollector{feature: f.Name, effective: &e}
	if _, err := f.Read(reader{featureScope: scope, problemCollector: told}, []byte(e.JSON)); err != nil {
		return nil // which the schema refuses
	}
	for _, found := range told.list {
		if found.Condition == "ResolvedRefs" && found.Severity == model.Error {
			list = append(list, found.toModel())
		}
	}
	return list
}

// gatewaysOf are the Gateways that are served and that a policy reaches by a target on them or on their class.
func (r reporter) gatewaysOf(c *flow.Ctx, ref model.ObjectRef, t Target) (list []model.Gateway) {
	switch {
	case t.Object.Kind() == model.KindGateway:
		if g, served := flow.Fetch(c, r.inputs.Plan.Gateways, t.Object); served {
			list = append(list, g)
		}
	case t.Object.Kind() == model.KindGatewayClass && (r.inputs.Namespace == "" || ref.Namespace() == r.inputs.Namespace):
		members, _ := flow.Fetch(c, r.gatewaysByClass, t.Object)
		for _, g := range members.All() {
			list = append(list, g)
		}
	}
	return list
}

// hasTLS tells whether a listener of a Gateway is meant to have TLS; section "": any.
func (r reporter) hasTLS(c *flow.Ctx, gateway model.ObjectRef, section string) bool {
	return slices.ContainsFunc(r.listenersOf(c, gateway), func(l gatewayListener) bool {
		return !l.Protocol.Plaintext() && (section == "" || l.Section == section)
	})
}
