package ledgerfeed

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// maxWithdrawn is how many ReferenceGrants that are gone are remembered.
const maxWithdrawn = 100

// withdrawnGrants are the ReferenceGrants that are gone, the last maxWithdrawn, so that who still needs one is told.
type withdrawnGrants struct {
	specs    map[model.ObjectRef]*gatewayv1.ReferenceGrantSpec // those that are there
	goneRefs []model.ObjectRef                                 // those that are not any more, the oldest first
}

// noteReturn takes that an object is there.
func (w *withdrawnGrants) noteReturn(b *flow.Batch, s *input.Sources, a *checkedObject) {
	spec, is := a.valid.Spec.(*gatewayv1.ReferenceGrantSpec)
	if !is {
		return
	}
	if w.specs == nil {
		w.specs = map[model.ObjectRef]*gatewayv1.ReferenceGrantSpec{}
	}
	w.specs[a.ref] = spec
	w.goneRefs = slices.DeleteFunc(w.goneRefs, func(ref model.ObjectRef) bool { return ref == a.ref })
	s.Withdrawn.Delete(b, a.ref)
}

// noteGone takes that an object is there no more.
func (w *withdrawnGrants) noteGone(b *flow.Batch, s *input.Sources, a *checkedObject) {
	spec := w.specs[a.ref]
	if spec == nil {
		return
	}
	delete(w.specs, a.ref)
	s.Withdrawn.Set(b, a.ref, input.WithdrawnGrant{Spec: spec, Where: fmt.Sprintf("the ledger until change %d", a.Change)})
	if w.goneRefs = append(w.goneRefs, a.ref); len(w.goneRefs) > maxWithdrawn {
		s.Withdrawn.Delete(b, w.goneRefs[0])
		w.goneRefs = w.goneRefs[1:]
	}
}
