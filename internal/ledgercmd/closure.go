package ledgercmd

import (
	"context"
	"fmt"
	"strings"

	"cardea.dev/cardea/internal/ledger"
	"cardea.dev/cardea/internal/ledger/closure"
)

// closure is what goes back with Gateways. If something would go back that other Gateways use, too, the error names it,
// unless that is wanted.
func (o *options) closure(ctx context.Context, l *opened, gateways []ledger.Key, to int64, shared bool,
) ([]ledger.Key, error) {
	members, err := closure.Of(ctx, l.Ledger, gateways, to)
	if err != nil {
		return nil, err
	}
	if len(members.Own)+len(members.Shared) == 0 {
		return nil, fmt.Errorf("%s is not in the ledger, and was not after change %d", gateways[0], to)
	}
	if shared {
		return append(members.Own, members.Shared...), nil
	}
	draft, err := ledger.RollbackOf(ctx, l.Ledger, members.Shared, to)
	if err != nil {
		return nil, err
	}
	if len(draft.Edits) > 0 {
		var names []string
		for _, e := range draft.Edits {
			names = append(names, e.Key.String())
		}
		return nil, fmt.Errorf("other Gateways use, too, what would go back: %s; state --shared if they are to have it as "+
			"it was, as well", strings.Join(names, ", "))
	}
	return members.Own, nil
}
