package ledgerfeed

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// manyWithdrawn is how many ReferenceGrants that are gone are remembered.
const manyWithdrawn = 100

// withdrawn are the ReferenceGrants that are gone, the last manyWithdrawn, so that who still needs one is told.
type withdrawn struct {
	specs map[model.ObjectRef]*gatewayv1.ReferenceGrantSpec // those that are there
	gones []model.ObjectRef                                 // those that are not any more, the oldest first
}

// back takes that an object is there.
func (w *withdrawn) back(b *flow.Batch, s *input.Sources, a *arrived) {
	spec, is := a.read.Spec.(*gatewayv1.ReferenceGrantSpec)
	if !is {
		return
	}
	if w.specs == nil {
		w.specs = map[model.ObjectRef]*gatewayv1.ReferenceGrantSpec{}
	}
	w.specs[a.ref] = spec
	w.gones = slices.DeleteFunc(w.gones, func(ref model.ObjectRef) bool { return ref == a.ref })
	s.Withdrawn.Delete(b, a.ref)
}

// gone takes that an object is there no more.
func (w *withdrawn) gone(b *flow.Batch, s *input.Sources, a *arrived) {
	spec := w.specs[a.ref]
	if spec == nil {
		return
	}
	delete(w.specs, a.ref)
	s.Withdrawn.Set(b, a.ref, input.Withdrawn{Spec: spec, Where: fmt.Sprintf("the ledger until change %d", a.Change)})
	if w.gones = append(w.gones, a.ref); len(w.gones) > manyWithdrawn {
		s.Withdrawn.Delete(b, w.gones[0])
		w.gones = w.gones[1:]
	}
}
