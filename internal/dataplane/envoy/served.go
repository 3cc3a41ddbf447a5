package envoy

import (
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// served is what a place holds of a rule: what it was rendered to or, if the Gateway's proxy refused that, its
// substitute. If the proxy refused an entry that the rule's settings name, they are closed.
type served struct {
	Fragment resource.Fragment
	Routes   model.Rope
	Needs    []resource.Name
	// Preflights stand behind the routes of all rules of the domain.
	Preflights model.Rope
}

// serve finds what a rule is served as at a listener. A rule that answers an error lets no setting of a farther level
// answer in its place.
func (s stages) serve(c *flow.Ctx, k model.RuleKey, h home) (served, bool) {
	f, ok := flow.Fetch(c, s.fragments, k)
	if !ok {
		return served{}, false
	}
	inherits := (f.Preflights.Inherited != nil || f.PerListener) && s.inheritsCORS(c, h.Listener)
	out := served{Fragment: f.at(k, h.Place), Routes: f.Routes, Needs: f.Clusters, Preflights: f.Preflights.at(inherits)}
	_, refused := flow.Fetch(c, s.refused, refusalKey(h.Table.Gateway, out.Fragment))
	closed := s.refusedEntry(c, h.Table.Gateway, f.Entries) != ""
	if !refused && !closed && !f.PerPlace && !f.PerListener {
		if f.Fails {
			out.Routes = s.silence(c, h, out.Routes)
		}
		return out, true
	}
	rule, found := s.find(c, k)
	if !found {
		return served{}, false
	}
	out.Fragment.Refused = refused || closed
	if refused {
		out.Routes, out.Needs, out.Preflights = s.silence(c, h, substitutes(rule)), nil, nil
		return out, true
	}
	r := statedAt(rule, fetch(c, s.settings.Routes, k.Route), h.Listener)
	if closed {
		r = s.closedRule(c, h.Table.Gateway, r)
	}
	r.Inherits = inherits
	f = renderRule(r, h.Place)
	out.Routes, out.Preflights = f.Routes, f.Preflights.at(inherits)
	return out, true
}

// find is the rule itself.
func (s stages) find(c *flow.Ctx, k model.RuleKey) (model.Rule, bool) {
	route, _ := flow.Fetch(c, s.routes, k.Route)
	at := slices.IndexFunc(route.Rules, func(r model.Rule) bool { return r.Key == k })
	if at < 0 {
		return model.Rule{}, false
	}
	return route.Rules[at], true
}

// at is the fragment as it is known at a place.
func (f fragment) at(k model.RuleKey, p place) resource.Fragment {
	out := resource.Fragment{Origin: ruleOrigin(k)}
	if f.PerPlace || f.PerListener {
		out.Variant = p.variant()
	}
	if f.PerListener {
		out.Variant += " " + p.Section
	}
	out.Hash = variantHash(f, out.Variant)
	return out
}

func refusalKey(gateway model.ObjectRef, f resource.Fragment) resource.RefusalKey {
	return resource.RefusalKey{Gateway: gateway, Origin: f.Origin, Variant: f.Variant, Hash: f.Hash}
}
