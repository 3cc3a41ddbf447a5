package diff

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// dataPlanes names the data planes of the reported Gateways if Gateways have several, and of those that would get
// another one: their resources may be the same, and their proxies are replaced.
func (d *Differ) dataPlanes(v flow.View, scenes []*gatewayChange) (list []string) {
	gateways := map[model.ObjectRef]bool{}
	if d.world.HasOtherDataPlanes(v) {
		for _, s := range scenes {
			gateways[s.gateway] = true
		}
	}
	for change := range flow.StagedChanges(v, d.world.Plan.Gateways) {
		if was, is := d.dialectsOf(v, change.Key); was.Name != is.Name {
			gateways[change.Key] = true
		}
	}
	for gateway := range gateways {
		was, is := d.dialectsOf(v, gateway)
		text := fmt.Sprintf("%s: %s", gateway.NamespacedName(), is.Name)
		if was.Name != is.Name {
			text = fmt.Sprintf("%s: %s, would be %s: its proxies are replaced", gateway.NamespacedName(), was.Name, is.Name)
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}
