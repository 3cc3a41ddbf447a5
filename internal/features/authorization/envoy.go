package authorization

import (
	"fmt"
	"slices"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// deniedStatus is the one status that Envoy's filter answers with.
const deniedStatus = 403

func renderRule(e envoy.Rule, v Value) {
	for _, l := range v.entryLists() {
		for _, entry := range l.entries {
			if entry.Status != nil && *entry.Status != deniedStatus {
				e.Unsupported(fmt.Sprintf("%s[%s].status", l.name, entry.Name),
					fmt.Sprintf("Envoy always answers denied requests with %d; leave it out, or state an error page", deniedStatus))
			}
		}
	}
	v.renderDeny(e, extend.SlotGuard, false)
	v.renderDeny(e, extend.SlotAuthz, true)
	for _, entry := range v.Require {
		f := new(filterv3.RBAC)
		v.addPolicies(f, "require."+entry.Name, entry.Mode, rbacv3.RBAC_ALLOW, v.entryPolicies(entry))
		e.Filter(v.filterSlot([]Entry{entry}), "require/"+entry.Name, f)
	}
	v.renderAllow(e)
}

// renderListener renders the rules for connections.
func renderListener(e envoy.Listener, v Value) {
	matches := func(entries []Entry) (list []envoy.ConnectionMatches) {
		for _, entry := range entries {
			list = append(list, entry.Matches)
		}
		return list
	}
	e.Access(envoy.ConnectionRules{Deny: matches(v.Deny), Require: matches(v.Require), Allow: matches(v.Allow)})
}

// renderDeny renders the entries that need an identity, or those that need none. An expression that can't be evaluated
// must not let a request pass: a match with one has a filter of its own, which allows all others. So has an entry that
// is only tried, and counts by itself.
func (v Value) renderDeny(e envoy.Rule, at extend.Slot, identity bool) {
	joint := new(filterv3.RBAC)
	for _, entry := range v.Deny {
		if v.needsIdentity(entry) != identity {
			continue
		}
		f := joint
		if entry.Mode == Shadow {
			f = new(filterv3.RBAC)
		}
		for i, m := range entry.Matches {
			name := fmt.Sprintf("%s/%d", entry.Name, i)
			if m.CEL == "" {
				v.addPolicies(f, "deny."+entry.Name, entry.Mode, rbacv3.RBAC_DENY,
					map[string]*rbacv3.Policy{name: envoy.MatchPolicy(m, v.Providers...)})
				continue
			}
			others := map[string]*rbacv3.Policy{}
			for j, p := range envoy.MismatchPolicies(m, v.Providers...) {
				others[fmt.Sprintf("%s/%d", name, j)] = p
			}
			own := new(filterv3.RBAC)
			v.addPolicies(own, "deny."+entry.Name, entry.Mode, rbacv3.RBAC_ALLOW, others)
			if own.ShadowRulesStatPrefix != "" && len(entry.Matches) > 1 {
				own.ShadowRulesStatPrefix += fmt.Sprint(i, "/")
			}
			e.Filter(at, "deny/"+name, own)
		}
		if f.GetShadowRules() != nil {
			e.Filter(at, "deny/"+entry.Name, f)
		}
	}
	if joint.GetRules() != nil {
		e.Filter(at, "deny", joint)
	}
}

// renderAllow renders all entries as one filter: a request of any of them passes. If some are only tried, it is counted
// what would pass, and what not, with all of them.
func (v Value) renderAllow(e envoy.Rule) {
	if len(v.Allow) == 0 {
		return
	}
	f := new(filterv3.RBAC)
	shadow := slices.ContainsFunc(v.Allow, func(entry Entry) bool { return entry.Mode == Shadow })
	for _, entry := range v.Allow {
		if entry.Mode != Shadow {
			v.addPolicies(f, allowList, Enforce, rbacv3.RBAC_ALLOW, v.entryPolicies(entry))
		}
		if shadow {
			v.addPolicies(f, allowList, Shadow, rbacv3.RBAC_ALLOW, v.entryPolicies(entry))
		}
	}
	e.Filter(v.filterSlot(v.Allow), "allow", f)
}

// allowList names the list that counts all of its entries together.
const allowList = "allow"

// addPolicies puts policies into a filter. Entries in mode Shadow count and log as a part of the policy.
func (v Value) addPolicies(
	f *filterv3.RBAC, part string, mode Mode, action rbacv3.RBAC_Action, policies map[string]*rbacv3.Policy,
) {
	rules := &f.Rules
	if mode == Shadow {
		rules, f.ShadowRulesStatPrefix = &f.ShadowRules, v.Shadows[part]
	}
	if *rules == nil {
		*rules = &rbacv3.RBAC{Action: action, Policies: map[string]*rbacv3.Policy{}}
	}
	for name, p := range policies {
		(*rules).Policies[name] = p
	}
}

// entryPolicies take the requests of an entry.
func (v Value) entryPolicies(entry Entry) map[string]*rbacv3.Policy {
	all := map[string]*rbacv3.Policy{}
	for i, m := range entry.Matches {
		all[fmt.Sprintf("%s/%d", entry.Name, i)] = envoy.MatchPolicy(m, v.Providers...)
	}
	return all
}

// filterSlot is where entries are told apart: after authentication, if one of them needs it.
func (v Value) filterSlot(entries []Entry) extend.Slot {
	if slices.ContainsFunc(entries, v.needsIdentity) {
		return extend.SlotAuthz
	}
	return extend.SlotGuard
}

// needsIdentity tells whether an entry depends on what authentication finds out, or on a header that it sets.
func (v Value) needsIdentity(e Entry) bool {
	return slices.ContainsFunc(e.Matches, func(m extend.RequestMatch) bool {
		return m.NeedsIdentity() || m.ReadsHeaders(v.Headers)
	})
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Rule: renderRule, Listener: renderListener})
