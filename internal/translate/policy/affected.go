package policy

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/conditions"
)

// AffectingPolicies are the policies that target an object itself, or a section of it; whole: whatever the section.
func (m *Translator) AffectingPolicies(
	c *flow.Ctx, object model.ObjectRef, section string, whole bool,
) (list []conditions.Affected) {
	if m.Store.byTarget == nil {
		return nil
	}
	members, touched := flow.Fetch(c, m.Store.byTarget, object)
	if !touched {
		return nil
	}
	names := map[model.Kind][]string{}
	for k := range members.All() {
		if whole || k.Target.Section == section {
			name := k.Policy.NamespacedName()
			if input.IsClosedKey(k.Policy) {
				name = input.DescribeObject(k.Policy)
			}
			names[k.Policy.Kind()] = append(names[k.Policy.Kind()], name)
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

// DeniedRules tells of the rules of a route that are answered with 500, because what policies state for them, or for
// the route, can't be served. If rules inherit it, only the policy's status tells: many routes may inherit it.
func (m *Translator) DeniedRules(c *flow.Ctx, ref model.ObjectRef, rules []model.Rule) (list []model.Finding) {
	if m.Routes == nil {
		return nil
	}
	pieces, _ := flow.Fetch(c, m.Routes, ref)
	for key, p := range pieces.allPieces() {
		i := slices.IndexFunc(rules, func(r model.Rule) bool { return r.Key == key })
		if i < 0 || p.Status != http.StatusInternalServerError {
			continue
		}
		for _, f := range p.Findings {
			said := model.Finding{
				Object: ref, Section: key.Name, Condition: "PartiallyInvalid", Reason: PolicyInvalid, Field: rules[i].FieldPath(),
				Message: fmt.Sprintf("requests of the rule get 500: %s: %s: %s", f.Policy, f.Field, f.Message),
			}
			if why := describeUnread(f); why != "" {
				said.Message = "requests of the rule get 500, because " + why
				if r := m.inputs.Sources.Catalog.FindKind(ref.Kind()).AsRoute(); !r.ForHTTP() {
					said.Message = "connections of the rule are closed, because " + why
				}
			}
			if f.Severity == model.Error && !slices.Contains(list, said) {
				list = append(list, said)
			}
		}
	}
	return joinRules(list, rules)
}

// describeUnread tells which policy can't be read, if a finding is about that; "": it is not. What is wrong with it is
// told elsewhere.
func describeUnread(f Finding) string {
	switch {
	case !input.IsClosedKey(f.Policy):
		return ""
	case strings.HasSuffix(f.Message, input.OtherInUse):
		return input.DescribeObject(f.Policy) + " has no effect: " + input.OtherInUse
	}
	return input.DescribeObject(f.Policy) + " can't be read"
}

// joinRules makes one finding of those that say the same of all rules.
func joinRules(list []model.Finding, rules []model.Rule) []model.Finding {
	const rule, all = "requests of the rule get 500, because ", "all rules answer 500, because "
	same := func(f model.Finding) bool { return f.Message == list[0].Message }
	if len(rules) < 2 || len(list) != len(rules) || !strings.HasPrefix(list[0].Message, rule) ||
		slices.ContainsFunc(list, func(f model.Finding) bool { return !same(f) }) {
		return list
	}
	one := list[0]
	one.Section, one.Field, one.Message = "", "spec.rules", strings.Replace(one.Message, rule, all, 1)
	return []model.Finding{one}
}

// ClosingFindings are the findings on a listener that closes connections, because what policies state for it can't be
// served.
func (m *Translator) ClosingFindings(c *flow.Ctx, k model.ListenerKey, field string) (list []model.Finding) {
	if m.Ports == nil {
		return nil
	}
	l, serves := flow.Fetch(c, m.inputs.Plan.Listeners, k)
	if !serves {
		return nil
	}
	port, _ := flow.Fetch(c, m.Ports, l.Port)
	for _, p := range port.ofListener(k) {
		if !p.Rendered.OfListener().Closed {
			continue
		}
		fields, severity := map[model.ObjectRef][]string{}, model.Warning
		for _, f := range p.Findings {
			if f.Severity == model.Error || f.Closes {
				fields[f.Policy] = append(fields[f.Policy], f.Field)
			}
			if f.Severity == model.Error {
				severity = model.Error
			}
		}
		for _, policy := range slices.SortedFunc(maps.Keys(fields), model.ObjectRef.Compare) {
			message := fmt.Sprintf("connections are closed until %s is fixed: %s", policy, model.JoinSome(fields[policy]))
			if severity == model.Warning {
				message = fmt.Sprintf("connections are closed, because %s states for them what can't be served: %s", policy,
					model.JoinSome(fields[policy]))
			}
			if input.IsClosedKey(policy) {
				message = fmt.Sprintf("connections are closed until %s can be read", input.DescribeObject(policy))
			}
			list = append(list, model.Finding{
				Object: k.Parent, Section: k.Section, Severity: severity, Condition: "Programmed", Reason: PolicyInvalid,
				Field: field, Message: message,
			})
		}
	}
	return list
}

// MissingSections warns of the policies that target sections of an object that it does not have.
func (m *Translator) MissingSections(c *flow.Ctx, object model.ObjectRef) (list []model.Finding) {
	if m.Store.byTarget == nil {
		return nil
	}
	members, _ := flow.Fetch(c, m.Store.byTarget, object)
	var names []string
	looked := false
	for k := range members.All() {
		kind, _ := m.Store.FindKind(k.Policy.Kind())
		if k.Target.Section == "" || object.Kind() != model.KindGateway && !kind.AtRule() {
			continue
		}
		if !looked {
			names, _ = m.inputs.listSections(c, object)
			looked = true
		}
		if describeMissingSection(k.Target, "", names) == "" {
			continue
		}
		what, field := sectionOf(object.Kind())
		list = append(list, model.Finding{
			Object: object, Severity: model.Warning, Field: field, Message: fmt.Sprintf(
				"%s targets %s %q, which does not exist here: the policy has no effect there, and requests may be "+
					"unprotected", input.DescribeObject(k.Policy), what, k.Target.Section),
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

// listSections are the names of a Gateway's listeners, or of a route's rules.
func (in Inputs) listSections(c *flow.Ctx, object model.ObjectRef) (names []string, found bool) {
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
	rules, found := in.ruleSpecs(c, object)
	for _, rule := range rules {
		if rule.Name != nil {
			names = append(names, string(*rule.Name))
		}
	}
	return names, found
}
