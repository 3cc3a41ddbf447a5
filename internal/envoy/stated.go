package envoy

import (
	"slices"

	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resource"
	"cardea.dev/cardea/internal/slots"
)

// statedRule is a rule with the settings that are stated for it and nearer than those of its listener.
type statedRule struct {
	model.Rule
	Settings []plan.Setting   // of its route and of itself
	Nearer   [][]plan.Setting // of its backendRefs, in their order; it may end early
}

// stated finds the settings of a rule among those of its route.
func stated(r model.Rule, in plan.RouteSettings) statedRule {
	s := statedRule{Rule: r, Settings: in.Own}
	if i := slices.IndexFunc(in.Rules, func(o plan.RuleSettings) bool { return o.Rule == r.Key }); i >= 0 {
		s.Settings, s.Nearer = slots.Join(in.Own, in.Rules[i].Own), in.Rules[i].Backends
	}
	return s
}

// of are the settings of a backendRef.
func (r statedRule) of(backend int) []plan.Setting {
	if backend < len(r.Nearer) {
		return r.Nearer[backend]
	}
	return nil
}

// apart tells whether one of a rule's backends needs a route of its own.
func (r statedRule) apart() bool {
	return r.Divided() || slices.ContainsFunc(r.Nearer, func(s []plan.Setting) bool { return len(s) > 0 })
}

// clusters are those that the rule names.
func (r statedRule) clusters() (names []resource.Name) {
	names = append(clustersOf(r.Uses()), needs(r.Settings)...)
	for _, settings := range r.Nearer {
		names = append(names, needs(settings)...)
	}
	return names
}

// entries are those that the rule names.
func (r statedRule) entries() []plan.SharedKey {
	return append(entriesOf(r.Settings...), entriesOf(slices.Concat(r.Nearer...)...)...)
}

// needs are the resources that settings name: clusters, and the configuration of filters that keep state.
func needs(settings []plan.Setting) (names []resource.Name) {
	for _, s := range settings {
		names = append(names, clustersOf(s.Uses)...)
		if slices.Contains(slots.Shared(), s.Slot) {
			names = append(names, resource.Name{Type: resource.Extension, Name: s.Slot})
		}
	}
	return names
}

func clustersOf(backends []model.BackendKey) (names []resource.Name) {
	for _, b := range backends {
		names = append(names, resource.Name{Type: resource.Cluster, Name: clusterName(b)})
	}
	return names
}
