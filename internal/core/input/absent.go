package input

import (
	"fmt"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// DescribeAbsent says of an object that was not found why: nobody declares it, or what declares it has a mistake.
// Whether the one who refers to it may know must have been asked before.
func DescribeAbsent(c *flow.Ctx, all *BrokenObjects, ref model.ObjectRef) string {
	if b, declared := flow.Fetch(c, all, ref); declared {
		return fmt.Sprintf("%s is in %s, but can't be read: %s", ref, b.Where, b.Why)
	}
	if k := ref.Kind(); k == model.KindXBackend || k == model.KindMCPBackend { // there are two of this name
		return fmt.Sprintf("%s of group %s does not exist", ref, k.Group())
	}
	return fmt.Sprintf("%s does not exist", ref)
}
