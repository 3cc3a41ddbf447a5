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
		add(f, entry.Mode, rbacv3.RBAC_ALLOW, v.policies(entry))
		e.Filter(v.slot([]Entry{entry}), "require/"+entry.Name, f)
	}
	v.allow(e)
}

// deny renders the entries that need an identity, or those that need none. An expression that can't be evaluated must
// not let a request pass: a match with one has a filter of its own, which allows all others.
func (v Value) deny(e extend.EnvoyRule, at extend.Slot, identity bool) {
	f := new(filterv3.RBAC)
	for _, entry := range v.Deny {
		if v.needsIdentity(entry) != identity {
			continue
		}
		for i, m := range entry.Matches {
			name := fmt.Sprintf("%s/%d", entry.Name, i)
			if m.CEL == "" {
				add(f, entry.Mode, rbacv3.RBAC_DENY, map[string]*rbacv3.Policy{name: extend.Policy(m, v.Providers...)})
				continue
			}
			others := map[string]*rbacv3.Policy{}
			for j, p := range extend.Unless(m, v.Providers...) {
				others[fmt.Sprintf("%s/%d", name, j)] = p
			}
			own := new(filterv3.RBAC)
			add(own, entry.Mode, rbacv3.RBAC_ALLOW, others)
			e.Filter(at, "deny/"+name, own)
		}
	}
	if f.GetRules() != nil || f.GetShadowRules() != nil {
		e.Filter(at, "deny", f)
	}
}

// allow renders all entries as one filter: a request of any of them passes. What an entry in shadow mode would let pass
// as well is counted.
func (v Value) allow(e extend.EnvoyRule) {
	if len(v.Allow) == 0 {
		return
	}
	f := new(filterv3.RBAC)
	shadow := slices.ContainsFunc(v.Allow, func(entry Entry) bool { return entry.Mode == Shadow })
	for _, entry := range v.Allow {
		if entry.Mode != Shadow {
			add(f, Enforce, rbacv3.RBAC_ALLOW, v.policies(entry))
		}
		if shadow {
			add(f, Shadow, rbacv3.RBAC_ALLOW, v.policies(entry))
		}
	}
	e.Filter(v.slot(v.Allow), "allow", f)
}

// add puts policies into a filter.
func add(f *filterv3.RBAC, mode Mode, action rbacv3.RBAC_Action, policies map[string]*rbacv3.Policy) {
	rules := &f.Rules
	if mode == Shadow {
		rules = &f.ShadowRules
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
