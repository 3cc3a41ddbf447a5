package policy

import (
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// selector targets the objects of a kind that have all of these labels.
type selector struct {
	Kind    model.Kind
	Labels  map[string]string // never empty, unless All
	All     bool              // whatever labels they have
	Section string
}

// selects tells whether an object's labels are those that are asked for.
func (s selector) selects(labels model.Labels) bool {
	for key, value := range s.Labels {
		if !slices.Contains(labels, model.Label{Key: key, Value: value}) {
			return false
		}
	}
	return s.All || len(s.Labels) > 0
}

func readSelectors(list []input.TargetSelector) (all []selector) {
	for _, t := range list {
		s := selector{Kind: model.KindOf(string(t.Group), string(t.Kind)), Labels: t.MatchLabels}
		if t.SectionName != nil {
			s.Section = string(*t.SectionName)
		}
		all = append(all, s)
	}
	return all
}

// scopeKey is where a selector looks: at the objects of a kind in a namespace.
type scopeKey struct {
	Kind      model.Kind
	Namespace string
}

// selectedKey names an object that a policy selects.
type selectedKey struct {
	Object, Policy model.ObjectRef
	Section        string
}

// Owner is the object.
func (k selectedKey) Owner() model.ObjectRef { return k.Object }

// selections are the policies that look at objects of a kind in a namespace. Only selectors of a policy matter here:
// every such object asks for them.
type selections = flow.Collection[scopeKey, flow.Members[model.ObjectRef, []selector]]

func newSelections(policies *flow.Collection[model.ObjectRef, *policy]) *selections {
	selecting := flow.Map(policies, "policy/selectors",
		func(_ *flow.Ctx, _ model.ObjectRef, p *policy) ([]selector, bool) {
			return p.Selectors, len(p.Selectors) > 0
		})
	return flow.Group(selecting, "policy/selecting", func(ref model.ObjectRef, list []selector) (keys []scopeKey) {
		for _, s := range list {
			keys = append(keys, scopeKey{s.Kind, ref.Namespace()})
		}
		return keys
	}, flow.ByKey)
}

// selected are the policies that select an object of a kind.
func selected[S any](
	of *input.Collection[S], kind model.Kind, all *selections,
) *flow.Collection[selectedKey, struct{}] {
	return flow.Derive(of, "policy/selected-"+kind.Qualified(),
		func(c *flow.Ctx, ref model.ObjectRef, o input.Object[S], emit func(selectedKey, struct{})) {
			for _, namespace := range scopes(ref) {
				members, _ := flow.Fetch(c, all, scopeKey{kind, namespace})
				for policy, list := range members.All() {
					seen := map[string]bool{}
					for _, s := range list {
						if s.Kind == kind && !seen[s.Section] && s.selects(o.Meta.Labels) {
							seen[s.Section] = true
							emit(selectedKey{ref, policy, s.Section}, struct{}{})
						}
					}
				}
			}
		})
}

// scopes are the namespaces of selectors that can select an object: its own and, if it is a Gateway, one that nobody
// knows.
func scopes(ref model.ObjectRef) []string {
	if ref.Kind() == model.KindGateway {
		return []string{ref.Namespace(), ""}
	}
	return []string{ref.Namespace()}
}

// selectedTargets are what policies select and do not name.
func (s *Store) selectedTargets() *flow.Collection[attachmentKey, *policy] {
	in, all := s.in, newSelections(s.policies)
	var list []flow.Input[attachmentKey, *policy]
	for _, found := range []*flow.Collection[selectedKey, struct{}]{
		selected(in.Gateways.Collection(), model.KindGateway, all),
		selected(in.HTTPRoutes.Collection(), model.KindHTTPRoute, all),
		selected(in.GRPCRoutes.Collection(), model.KindGRPCRoute, all),
		selected(in.Services.Collection(), model.KindService, all),
		selected(in.XBackends.Collection(), model.KindXBackend, all),
		selected(in.MCPBackends.Collection(), model.KindMCPBackend, all),
		selected(in.InferencePools.Collection(), model.KindInferencePool, all),
	} {
		list = append(list, flow.Renamed(found, func(k selectedKey) attachmentKey {
			return attachmentKey{k.Policy, Target{k.Object, k.Section}}
		}, func(c *flow.Ctx, k selectedKey, _ struct{}) (*policy, bool) {
			p, found := flow.Fetch(c, s.policies, k.Policy)
			return p, found && !slices.Contains(p.Targets, Target{k.Object, k.Section}) // which is there already
		}))
	}
	return flow.Merge("policy/selected", list[0], list[1:]...)
}
