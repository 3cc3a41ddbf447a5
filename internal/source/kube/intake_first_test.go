package kube

import (
	"testing"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// TestNothingIsServedBeforeEveryKindIsRead: a program that starts publishes nothing while objects of any kind are not
// read yet, so no route is served for a moment without the policy that protects it.
func TestNothingIsServedBeforeEveryKindIsRead(t *testing.T) {
	for _, late := range catalog.All() {
		if late.ReadScope == kind.OnDemand {
			continue
		}
		b := newEmptyBench(t)
		for _, k := range catalog.All() {
			if k.Kind == late.Kind || k.ReadScope == kind.OnDemand {
				continue
			}
			if k.Kind == model.KindGatewayClass {
				b.list(k.Kind, class("ours", model.ControllerName))
			} else {
				b.list(k.Kind)
			}
		}
		if b.intake.synced || b.rev() != 0 {
			t.Errorf("the graph turned while no %s was read", late.Kind)
		}
		if b.list(late.Kind); !b.intake.synced {
			t.Errorf("all kinds are read, %s last, and the first load is not over", late.Kind)
		}
	}
}
