package world

import (
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/simulate"
)

// Simulations has, for each Gateway that is served, what its proxies have or are about to get; of one Gateway only if it is named.
func (w *World) Simulations(v flow.View, only ...model.ObjectRef) (map[model.ObjectRef]*simulate.Config, error) {
	all := map[model.ObjectRef]*simulate.Config{}
	for ref := range flow.All(v, w.Plan.Gateways) {
		if len(only) == 0 || only[0] == ref {
			all[ref] = simulate.New()
		}
	}
	for _, c := range w.Outputs.Resources {
		for key, r := range flow.All(v, c) {
			if config := all[key.Gateway]; config != nil {
				if err := config.Add(key.Type, key.Name, r.Flatten(nil)); err != nil {
					return nil, err
				}
			}
		}
	}
	return all, nil
}
