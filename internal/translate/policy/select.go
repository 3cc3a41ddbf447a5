package policy

import (
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// selector targets the objects of a kind that have all of these labels.
type selector struct {
	Kind    model.Kind
	Labels  map[string]string // never empty, unless All
	All     bool              // whatever labels they have
	Section string
}

// matchesLabels tells whether an object's labels are those that are asked for.
func (s selector) matchesLabels(labels model.Labels) bool {
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

// selectorScope is where a selector looks: at the objects of a kind in a namespace.
type selectorScope struct {
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

// selectorsByScope are the policies that look at objects of a kind in a namespace. Only selectors of a policy matter
// here: every such object asks for them.
type selectorsByScope = flow.Collection[selectorScope, flow.Members[model.ObjectRef, []selector]]

func newSelectors(policies *flow.Collection[model.ObjectRef, *policy]) *selectorsByScope {
	selecting := flow.Map(policies, "policy/selectors",
		func(_ *flow.Ctx, _ model.ObjectRef, p *policy) ([]selector, bool) {
			return p.Selectors, len(p.Selectors) > 0
		})
	return flow.Group(selecting, "policy/selecting", func(ref model.ObjectRef, list []selector) (keys []selectorScope) {
		for _, s := range list {
			keys = append(keys, selectorScope{s.Kind, ref.Namespace()})
		}
		return keys
	}, flow.ByKey)
}

// collectSelected are the policies that select an object of a kind.
func collectSelected(of kind.Objects, k model.Kind, all *selectorsByScope) *flow.Collection[selectedKey, struct{}] {
	return flow.DeriveProjected(of, "policy/selected-"+k.QualifiedName(),
		func(c *flow.Ctx, ref model.ObjectRef, o kind.UntypedObject, emit func(selectedKey, struct{})) {
			for _, namespace := range selectorNamespaces(ref) {
				members, _ := flow.Fetch(c, all, selectorScope{k, namespace})
				for policy, list := range members.All() {
					seen := map[string]bool{}
					for _, s := range list {
						if s.Kind == k && !seen[s.Section] && s.matchesLabels(o.Meta.Labels) {
							seen[s.Section] = true
							emit(selectedKey{ref, policy, s.Section}, struct{}{})
						}
					}
				}
			}
		})
}

// selectorNamespaces are the namespaces of selectors that can select an object: its own and, if it is a Gateway, one
// that nobody knows.
func selectorNamespaces(ref model.ObjectRef) []string {
	if ref.Kind() == model.KindGateway {
		return []string{ref.Namespace(), ""}
	}
	return []string{ref.Namespace()}
}

// canBeTarget tells whether a policy can select objects of a kind.
func canBeTarget(k *kind.Kind) bool {
	return k.Kind == model.KindGateway || k.AsRoute() != nil || k.AsBackend().Can(kind.AnyPolicy)
}

// selectedTargets are what policies select and do not name.
func (s *Store) selectedTargets() *flow.Collection[attachmentKey, *policy] {
	in, all := s.in, newSelectors(s.policies)
	var list []flow.Input[attachmentKey, *policy]
	for _, k := range in.Catalog.All() {
		if !canBeTarget(k) {
			continue
		}
		found := collectSelected(in.KindSource(k.Kind).Objects(), k.Kind, all)
		list = append(list, flow.FromRenamed(found, func(k selectedKey) attachmentKey {
			return attachmentKey{k.Policy, Target{k.Object, k.Section}}
		}, func(c *flow.Ctx, k selectedKey, _ struct{}) (*policy, bool) {
			p, found := flow.Fetch(c, s.policies, k.Policy)
			return p, found && !slices.Contains(p.Targets, Target{k.Object, k.Section}) // which is there already
		}))
	}
	return flow.Merge("policy/selected", list[0], list[1:]...)
}
