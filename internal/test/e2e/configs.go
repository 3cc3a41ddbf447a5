package e2e

import (
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy"
	"cardea.dev/cardea/internal/dataplane/envoy/simulate"
	"cardea.dev/cardea/internal/translate/policy"
)

// simulations has, for each Gateway that is served, all that its proxies have or are about to get.
func simulations(w *world.World, v flow.View) (map[model.ObjectRef]*simulate.Config, error) {
	all := map[model.ObjectRef]*simulate.Config{}
	tables := map[model.ObjectRef]*resource.Excerpt{}
	for ref := range flow.All(v, w.Plan.Gateways) {
		all[ref], tables[ref] = simulate.New(), resource.NewExcerpt(w.TypesOf(v, ref))
	}
	for _, c := range w.Outputs.Resources {
		for key, r := range flow.All(v, c) {
			if config := all[key.Gateway]; config != nil {
				tables[key.Gateway].Offered[resource.Name{Type: key.Type, Name: key.Name}] = r.Parts
				if err := config.Add(key.Type, key.Name, r.AppendBytes(nil)); err != nil {
					return nil, err
				}
			}
		}
	}
	for ref, config := range all {
		config.Gates = envoy.GatesByRoute(w.Policies.RequestGates(policy.Snapshot{View: v}, ref, tables[ref]))
	}
	return all, nil
}
