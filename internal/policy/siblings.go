package policy

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
)

// serversKey names the policies of a kind on the XBackends of a namespace.
type serversKey struct {
	Namespace string
	Kind      model.Kind
}

// newServers has them.
func (s *Store) newServers(
	attachments *flow.Collection[attachmentKey, *policy],
) *flow.Collection[serversKey, members] {
	return flow.Group(attachments, "policy/on-xbackends", func(k attachmentKey, _ *policy) []serversKey {
		if !ruleBackends(k.Target.Object.Kind()) {
			return nil
		}
		kind, _ := s.Of(k.Policy.Kind())
		return []serversKey{{k.Target.Object.Namespace(), kind.Kind}}
	}, func(k attachmentKey, p *policy) string { return p.Age + " " + k.Policy.NamespacedName() })
}

// withoutPolicy are the findings on servers of MCP for which no policy says who may ask, where one says so for another
// XBackend of the namespace. The policy is told.
func (r *ruleScope) withoutPolicy(stating []*Feature, index level) (list []Finding) {
	for _, f := range r.kind.Features {
		if f.Agents == nil || slices.Contains(stating, f) || slices.Contains(index.Agents, f.Name) {
			continue
		}
		for _, b := range r.rule.Backends {
			backend := b.Backend.Object
			if !b.MCP || !empty(r.onBackend(backend, f)) {
				continue
			}
			others, _ := flow.Fetch(r.c, r.m.Store.servers, serversKey{backend.Namespace(), r.kind.Kind})
			for k := range others.All() {
				mend := "name it here, or in a policy of its own"
				if !ruleBackends(backend.Kind()) {
					mend = fmt.Sprintf("write one for %s", r.ref)
				}
				list = append(list, Finding{
					Policy: k.Policy, Severity: model.Warning, Field: "spec.targetRefs",
					Message: fmt.Sprintf("no policy is for %s, to which rule %s of %s leads, unlike for %s: everybody may call its "+
						"tools; %s", backend, r.rule.Key.Name, r.ref, k.Target.Object, mend),
				})
				break
			}
		}
	}
	return list
}
