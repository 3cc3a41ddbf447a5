package authorization

import (
	"fmt"
	"slices"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"

	"cardea.dev/cardea/extend"
)

// only is the one status that Envoy's filter answers with.
const only = 403

func render(e extend.EnvoyRule, v Value) {
	for _, l := range v.lists() {
		for _, entry := range l.entries {
			if entry.Status != nil && *entry.Status != only {
				e.Unsupported(fmt.Sprintf("%s[%s].status", l.name, entry.Name),
					fmt.Sprintf("Envoy answers %d to what is refused, always; leave it out, or state an error page", only))
			}
		}
	}
	v.deny(e, extend.SlotGuard, false)
	v.deny(e, extend.SlotAuthz, true)
	for _, entry := range v.Require {
		f := new(filterv3.RBAC)
		v.add(f, "require."+entry.Name, entry.Mode, rbacv3.RBAC_ALLOW, v.policies(entry))
		e.Filter(v.slot([]Entry{entry}), "require/"+entry.Name, f)
	}
	v.allow(e)
}

// deny renders the entries that need an identity, or those that need none. An expression that can't be evaluated must
// not let a request pass: a match with one has a filter of its own, which allows all others. So has an entry that is
// only tried, and counts by itself.
func (v Value) deny(e extend.EnvoyRule, at extend.Slot, identity bool) {
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
				v.add(f, "deny."+entry.Name, entry.Mode, rbacv3.RBAC_DENY,
					map[string]*rbacv3.Policy{name: extend.Policy(m, v.Providers...)})
				continue
			}
			others := map[string]*rbacv3.Policy{}
			for j, p := range extend.Unless(m, v.Providers...) {
				others[fmt.Sprintf("%s/%d", name, j)] = p
			}
			own := new(filterv3.RBAC)
			v.add(own, "deny."+entry.Name, entry.Mode, rbacv3.RBAC_ALLOW, others)
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

// allow renders all entries as one filter: a request of any of them passes. If some are only tried, it is counted what
// would pass, and what not, with all of them.
func (v Value) allow(e extend.EnvoyRule) {
	if len(v.Allow) == 0 {
		return
	}
	f := new(filterv3.RBAC)
	shadow := slices.ContainsFunc(v.Allow, func(entry Entry) bool { return entry.Mode == Shadow })
	for _, entry := range v.Allow {
		if entry.Mode != Shadow {
			v.add(f, allowList, Enforce, rbacv3.RBAC_ALLOW, v.policies(entry))
		}
		if shadow {
			v.add(f, allowList, Shadow, rbacv3.RBAC_ALLOW, v.policies(entry))
		}
	}
	e.Filter(v.slot(v.Allow), "allow", f)
}

// allowList names the list that counts all of its entries together.
const allowList = "allow"

// add puts policies into a filter. Entries in mode Shadow count and log as a part of the policy.
func (v Value) add(
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

// policies take the requests of an entry.
func (v Value) policies(entry Entry) map[string]*rbacv3.Policy {
	all := map[string]*rbacv3.Policy{}
	for i, m := range entry.Matches {
		all[fmt.Sprintf("%s/%d", entry.Name, i)] = extend.Policy(m, v.Providers...)
	}
	return all
}

// slot is where entries are told apart: after authentication, if one of them needs it.
func (v Value) slot(entries []Entry) extend.Slot {
	if slices.ContainsFunc(entries, v.needsIdentity) {
		return extend.SlotAuthz
	}
	return extend.SlotGuard
}

// needsIdentity tells whether an entry depends on what authentication finds out, or on a header that it sets.
func (v Value) needsIdentity(e Entry) bool {
	return slices.ContainsFunc(e.Matches, func(m extend.RequestMatch) bool {
		return m.NeedsIdentity() || m.Reads(v.Headers)
	})
}
