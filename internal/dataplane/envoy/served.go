package envoy

import (
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/route"
)

// servedRule is what a place holds of a rule: what it was rendered to or, if the Gateway's proxy refused that, its
// substitute. If the proxy refused an entry that the rule's settings name, they are closed.
type servedRule struct {
	Fragment resource.Fragment
	Routes   model.Rope
	Needs    []resource.Name
	// Preflights stand behind the routes of all rules of the domain.
	Preflights model.Rope
}

// serveRule finds what a rule is served as at a listener. A rule that answers an error lets no setting of a farther
// level answer in its place.
func (s stages) serveRule(c *flow.Ctx, k model.RuleKey, h tablePlacement) (servedRule, bool) {
	f, ok := flow.Fetch(c, s.renderedRules, k)
	if !ok {
		return servedRule{}, false
	}
	inherits := (f.Preflights.Inherited != nil || f.VariesBySettings) && s.inheritsCORS(c, h.Listener)
	out := servedRule{Fragment: f.fragmentAt(k, h.Context), Routes: f.Routes, Needs: f.Clusters,
		Preflights: f.Preflights.routesFor(inherits)}
	_, refused := flow.Fetch(c, s.refused, refusalKeyOf(h.Table.Gateway, out.Fragment))
	closed := s.entryRefusal(c, h.Table.Gateway, f.Entries) != ""
	if !refused && !closed && !f.VariesByContext && !f.VariesBySettings {
		if f.AnswersError {
			out.Routes = s.disableInherited(c, h, out.Routes)
		}
		return out, true
	}
	rule, found := s.findRule(c, k)
	if !found {
		return servedRule{}, false
	}
	out.Fragment.Refused = refused || closed
	if refused {
		out.Routes, out.Needs, out.Preflights = s.disableInherited(c, h, substituteRoutes(rule)), nil, nil
		return out, true
	}
	r := route.WithListenerSettings(rule, fetchOptional(c, s.settings.Routes, k.Route), h.Listener)
	if closed {
		r = s.closeRuleSettings(c, h.Table.Gateway, r)
	}
	r.InheritsCORS = inherits
	f = renderRule(r, h.Context)
	out.Routes, out.Preflights = f.Routes, f.Preflights.routesFor(inherits)
	return out, true
}

// findRule is the rule itself.
func (s stages) findRule(c *flow.Ctx, k model.RuleKey) (model.Rule, bool) {
	route, _ := flow.Fetch(c, s.routes, k.Route)
	at := slices.IndexFunc(route.Rules, func(r model.Rule) bool { return r.Key == k })
	if at < 0 {
		return model.Rule{}, false
	}
	return route.Rules[at], true
}

// fragmentAt is the fragment as it is known at a place.
func (f renderedRule) fragmentAt(k model.RuleKey, p route.ListenerContext) resource.Fragment {
	out := resource.Fragment{Origin: naming.RuleOrigin(k)}
	if f.VariesByContext || f.VariesBySettings {
		out.Variant = p.VariantName()
	}
	if f.VariesBySettings {
		out.Variant += " " + p.Section
	}
	out.Hash = variantHash(f, out.Variant)
	return out
}

func refusalKeyOf(gateway model.ObjectRef, f resource.Fragment) resource.RefusalKey {
	return resource.RefusalKey{Gateway: gateway, Origin: f.Origin, Variant: f.Variant, Hash: f.Hash}
}
