package policy

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/conditions"
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

// PolicyInvalid is the reason of what is told of the objects that a policy reaches, since the policy can't be served.
const PolicyInvalid = "PolicyInvalid"

// Denied tells of the rules of a route that are answered with 500, because what policies state for them, or for the
// route, can't be served. If rules inherit it, only the policy's status tells: many routes may inherit it.
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
				Object: ref, Section: key.Name, Condition: "PartiallyInvalid", Reason: PolicyInvalid, Field: rules[i].Field(),
				Message: fmt.Sprintf("the rule is answered with 500: %s: %s: %s", f.Policy, f.Field, f.Message),
			}
			if f.Severity == model.Error && !slices.Contains(list, said) {
				list = append(list, said)
			}
		}
	}
	return list
}

// Closing are the findings on a listener that closes connections, because what policies state for it can't be served.
func (m *Meaning) Closing(c *flow.Ctx, k model.ListenerKey, field string) (list []model.Finding) {
	if m.Ports == nil {
		return nil
	}
	l, serves := flow.Fetch(c, m.in.Plan.Listeners, k)
	if !serves {
		return nil
	}
	port, _ := flow.Fetch(c, m.Ports, l.Port)
	for _, p := range port.ofListener(k) {
		if !p.Rendered.OfListener().Closed {
			continue
		}
		fields := map[model.ObjectRef][]string{}
		for _, f := range p.Findings {
			if f.Severity == model.Error {
				fields[f.Policy] = append(fields[f.Policy], f.Field)
			}
		}
		for _, policy := range slices.SortedFunc(maps.Keys(fields), model.ObjectRef.Compare) {
			list = append(list, model.Finding{
				Object: k.Parent, Section: k.Section, Condition: "Programmed", Reason: PolicyInvalid, Field: field,
				Message: fmt.Sprintf("connections are closed until %s is mended: %s", policy, model.Listed(fields[policy])),
			})
		}
	}
	return list
}

// Astray warns of the policies that target sections of an object that it does not have.
func (m *Meaning) Astray(c *flow.Ctx, object model.ObjectRef) (list []model.Finding) {
	if m.Store.touched == nil {
		return nil
	}
	members, _ := flow.Fetch(c, m.Store.touched, object)
	var names []string
	looked := false
	for k := range members.All() {
		kind, _ := m.Store.Of(k.Policy.Kind())
		if k.Target.Section == "" || object.Kind() != model.KindGateway && !kind.AtRule() {
			continue
		}
		if !looked {
			names, _ = m.in.sections(c, object)
			looked = true
		}
		if missing(k.Target, "", names) == "" {
			continue
		}
		what, field := sectionOf(object.Kind())
		list = append(list, model.Finding{
			Object: object, Severity: model.Warning, Field: field, Message: fmt.Sprintf(
				"%s targets its %s %q, which it does not have: nothing of the policy counts there, and what it would protect "+
					"may be open", k.Policy, what, k.Target.Section),
		})
	}
	return list
}

// sectionOf is what the sections of a kind are called, and the field where they stand.
func sectionOf(kind model.Kind) (what, field string) {
	if kind == model.KindGateway {
		return "listener", "spec.listeners"
	}
	return "rule", "spec.rules"
}

// sections are the names of a Gateway's listeners, or of a route's rules.
func (in Inputs) sections(c *flow.Ctx, object model.ObjectRef) (names []string, found bool) {
	if object.Kind() == model.KindGateway {
		o, found := flow.Fetch(c, in.Sources.Gateways.Collection(), object)
		if !found {
			return nil, false
		}
		for _, l := range o.Spec.Listeners {
			names = append(names, string(l.Name))
		}
		return names, true
	}
	rules, found := in.spec(c, object)
	for _, rule := range rules {
		if rule.Name != nil {
			names = append(names, string(*rule.Name))
		}
	}
	return names, found
}
