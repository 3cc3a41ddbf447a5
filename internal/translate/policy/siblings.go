package policy

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/api/agentic/v0alpha0"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

// serversKey names the policies of a kind on the XBackends of a namespace.
type serversKey struct {
	Namespace string
	Kind      model.Kind
}

// newServers has them.
func (s *Store) newServers(
	attachments *flow.Collection[attachmentKey, *policy],
) *flow.Collection[serversKey, attachedPolicies] {
	return flow.Group(attachments, "policy/on-xbackends", func(k attachmentKey, _ *policy) []serversKey {
		if !s.ruleBackends(k.Target.Object.Kind()) {
			return nil
		}
		kind, _ := s.FindKind(k.Policy.Kind())
		return []serversKey{{k.Target.Object.Namespace(), kind.Kind}}
	}, func(k attachmentKey, p *policy) string { return p.Age + " " + k.Policy.NamespacedName() })
}

// newXBackendsByPort has the XBackends of a Service's port.
func newXBackendsByPort(in *kinds.Sources) *flow.Collection[model.BackendKey, xbackendsOfPort] {
	return flow.Group(in.MCPBackends.Collection(), "policy/xbackends-of-service",
		func(ref model.ObjectRef, o kind.Object[v0alpha0.XBackendSpec]) []model.BackendKey {
			mcp := o.Spec.MCP
			if mcp.ServiceName == nil {
				return nil
			}
			service := model.Ref(model.KindService, ref.Namespace(), *mcp.ServiceName)
			return []model.BackendKey{{Object: service, Port: mcp.Port}}
		}, flow.ByKey)
}

type xbackendsOfPort = flow.Members[model.ObjectRef, kind.Object[v0alpha0.XBackendSpec]]

// warnBypass are the findings on a Service that a rule without a policy leads to, where policies are for an XBackend of
// its port.
func (r *ruleScope) warnBypass(f *Feature, service model.BackendKey) (list []Finding) {
	xbackends, _ := flow.Fetch(r.c, r.m.Store.xbackendsByPort, model.BackendKey{Object: service.Object,
		Port: service.Port})
	for xbackend := range xbackends.All() {
		for _, level := range r.onBackend(xbackend, f) {
			for _, s := range level.List {
				spec, _ := decodeJSON(s.JSON).(map[string]any)
				if f.Unmerged.IsHarmless(spec) || len(list) > 0 {
					continue
				}
				list = append(list, Finding{
					Policy: s.Policy, Severity: model.Warning, Field: "spec.targetRefs",
					Message: fmt.Sprintf("rule %s of %s sends requests to %s, the server of %s, without the policies for the "+
						"XBackend: everybody may call its tools; name the XBackend in the rule, or write a policy for %s",
						r.rule.Key.Name, r.ref, service.Describe(), xbackend, r.ref),
				})
			}
		}
	}
	return list
}

// withoutPolicy are the findings on servers of MCP for which no policy says who may ask, where one says so for another
// XBackend of the namespace. The policy is told.
func (r *ruleScope) withoutPolicy(stating []*Feature, index levelFeature) (list []Finding) {
	for _, f := range r.policyKind.Features {
		if f.Agents.Rendered == nil || slices.Contains(stating, f) || slices.Contains(index.Agents, f.Name) {
			continue
		}
		for _, b := range r.rule.Backends {
			backend := b.Backend.Object
			list = append(list, r.warnBypass(f, b.Backend)...)
			if !b.MCP || !noStatements(r.onBackend(backend, f)) {
				continue
			}
			others, _ := flow.Fetch(r.c, r.m.Store.servers, serversKey{backend.Namespace(), r.policyKind.Kind})
			for k := range others.All() {
				mend := "name it here, or in a policy of its own"
				if !r.m.Store.ruleBackends(backend.Kind()) {
					mend = fmt.Sprintf("write one for %s", r.ref)
				}
				open, covered := backend.String(), k.Target.Object.String()
				if open == covered {
					open, covered = withGroup(backend), withGroup(k.Target.Object)
				}
				list = append(list, Finding{
					Policy: k.Policy, Severity: model.Warning, Field: "spec.targetRefs",
					Message: fmt.Sprintf("no policy targets %s, to which rule %s of %s sends requests, but one targets %s: "+
						"everybody may call its tools; %s", open, r.rule.Key.Name, r.ref, covered, mend),
				})
				break
			}
		}
	}
	return list
}
