package explain

import (
	"fmt"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/policy"
)

// explainIdlePort tells which Gateways state a port, or would bind it, that none of their listeners can serve, and why:
// a few lines. gateway is the one to look at, "" for any.
func (q *inquiry) explainIdlePort(port int32, gateway string) (notes []string) {
	environment, _ := flow.Get(q.view, q.world.Sources.Environment.Collection(), model.ObjectRef{})
	for ref, o := range flow.All(q.view, q.world.Sources.Gateways.Collection()) {
		if gateway != "" && ref.NamespacedName() != gateway {
			continue
		}
		for _, l := range o.Spec.Listeners {
			if (l.Port == port || l.Port+environment.PortOffset == port) && len(notes) < maxNear {
				notes = append(notes, q.explainListener(ref, string(l.Name), false)...)
			}
		}
	}
	return notes
}

// explainListener tells what is wrong with a listener or with the object that declares it, and so why it can't serve if
// it does not.
func (q *inquiry) explainListener(parent model.ObjectRef, section string, serves bool) (notes []string) {
	how := "can't serve"
	if serves {
		how = "serves, but has an error"
	}
	for _, f := range q.world.FindingsIn(q.view, parent) {
		if f.Reason == policy.PolicyInvalid { // which the story tells
			continue
		}
		if f.Severity == model.Error && (f.Section == section || f.Section == "") {
			notes = append(notes, fmt.Sprintf("listener %s of %s %s: %s", section, parent, how, f.Describe()))
		}
	}
	return notes
}
