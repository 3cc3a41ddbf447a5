package rest

import (
	"context"

	"cardea.dev/cardea/internal/ledger"
)

// admit checks the objects of a draft that the caller may make. What is meant by a key may be another one than was
// stated (a kind without namespaces, no namespace): then may decides again, about the keys that count.
func (s *server) admit(
	ctx context.Context, d ledger.Draft, may func(context.Context, ledger.Draft) error,
) (ledger.Draft, error) {
	if s.Admit == nil {
		return d, nil
	}
	admitted, err := s.Admit.Admit(ctx, d)
	if err != nil {
		return d, err
	}
	if other := Moved(d, admitted); len(other.Edits) > 0 {
		return admitted, may(ctx, other)
	}
	return admitted, nil
}

// Moved is a draft with those edits of an admitted one whose keys are not those that were stated.
func Moved(stated, admitted ledger.Draft) ledger.Draft {
	moved := admitted
	moved.Edits = nil
	for i, e := range admitted.Edits {
		if e.Key != stated.Edits[i].Key {
			moved.Edits = append(moved.Edits, e)
		}
	}
	return moved
}
