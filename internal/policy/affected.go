package policy

import (
	"fmt"
	"net/http"
	"slices"

	"cardea.dev/cardea/internal/conditions"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
)

// Affecting are the policies that target an object itself, or a section of it; whole: whatever the section.
func (m *Meaning) Affecting(
	c *flow.Ctx, object model.ObjectRef, section string, whole bool,
) (list []conditions.Affected) {
	if m.Store.touched == nil {
		return nil
	}
	members, touched := flow.Fetch(c, m.Store.touched, object)
	if !touched {
		return nil
	}
	names := map[model.Kind][]string{}
	for k := range members.All() {
		if whole || k.Target.Section == section {
			names[k.Policy.Kind()] = append(names[k.Policy.Kind()], k.Policy.NamespacedName())
		}
	}
	for _, k := range m.Store.Kinds {
		if all := names[k.Kind]; len(all) > 0 {
			slices.Sort(all)
			list = append(list, conditions.Affected{Kind: k.Kind.String(), Policies: slices.Compact(all)})
		}
	}
	return list
}

// Denied tells of the rules of a route that are answered with 500, because what policies state for them, or for the
// route, can't be served. What rules inherit is told of the policy alone: many routes may do so.
func (m *Meaning) Denied(c *flow.Ctx, ref model.ObjectRef, rules []model.Rule) (list []model.Finding) {
	if m.Routes == nil {
		return nil
	}
	pieces, _ := flow.Fetch(c, m.Routes, ref)
	for key, p := range pieces.pieces() {
		i := slices.IndexFunc(rules, func(r model.Rule) bool { return r.Key == key })
		if i < 0 || p.Status != http.StatusInternalServerError {
			continue
		}
		for _, f := range p.Findings {
			said := model.Finding{
				Object: ref, Section: key.Name, Condition: "PartiallyInvalid", Reason: "PolicyInvalid", Field: rules[i].Field(),
				Message: fmt.Sprintf("the rule is answered with 500: %s: %s: %s", f.Policy, f.Field, f.Message),
			}
			if f.Severity == model.Error && !slices.Contains(list, said) {
				list = append(list, said)
			}
		}
	}
	return list
}
