package rest

import (
	"context"
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/scope"
)

// mayStated has may decide about a draft as it was stated, before an answer reveals anything of its objects: those that
// it names, and those that an undo is about.
func (s *server) mayStated(ctx context.Context, d ledger.Draft, may func(context.Context, ledger.Draft) error) error {
	var keys []ledger.Key
	if d.Back != nil {
		keys = d.Back.Objects
	}
	if d.Verb == ledger.Undo {
		c, err := s.Ledger.Change(ctx, d.Of)
		if err != nil {
			return err
		}
		for _, e := range c.Edited {
			keys = append(keys, e.Key)
		}
	}
	d.Edits = slices.Clone(d.Edits)
	for _, k := range keys {
		d.Edits = append(d.Edits, ledger.Edit{Key: k})
	}
	err := may(ctx, d)
	if d.Verb == ledger.Undo && ledger.CodeOf(err) == ledger.Denied { // the request does not name its objects
		err = &ledger.Error{Code: ledger.Denied, Object: fmt.Sprintf("change %d", d.Of),
			Message: SubjectOf(ctx) + " may not undo the changes of all its objects", Fix: "ask an administrator for a grant"}
	}
	return err
}

// prepareDraft is a draft that was stated, and may be, as it is committed: with the edits that it stands for, and
// admitted.
func (s *server) prepareDraft(
	ctx context.Context, stated ledger.Draft, may func(context.Context, ledger.Draft) error,
) (ledger.Draft, error) {
	d, err := scope.ExpandDraft(ctx, s.Ledger, stated)
	if err != nil {
		return d, err
	}
	if stated.Back != nil {
		if err := may(ctx, d); err != nil {
			return d, err
		}
	}
	return s.admitDraft(ctx, d, may)
}

// goesBack tells whether a draft says that it is an undo or a rollback. Once it is drafted, it is one.
func goesBack(d ledger.Draft) bool { return d.Verb == ledger.Undo || d.Verb == ledger.Rollback }

// admitDraft checks the objects of a draft that the caller may make. A key that is admitted may differ from the one
// that was stated (a kind without namespaces, no namespace): then may decides again, about the keys that count.
func (s *server) admitDraft(
	ctx context.Context, d ledger.Draft, may func(context.Context, ledger.Draft) error,
) (ledger.Draft, error) {
	if s.Admit == nil {
		return d, nil
	}
	admitted, err := s.Admit.Admit(ctx, d)
	if err != nil {
		return d, err
	}
	if other := KeepMovedEdits(d, admitted); len(other.Edits) > 0 {
		return admitted, may(ctx, other)
	}
	return admitted, nil
}

// KeepMovedEdits is an admitted draft with only the edits that got other keys than were stated.
func KeepMovedEdits(stated, admitted ledger.Draft) ledger.Draft {
	moved := admitted
	moved.Edits = nil
	for i, e := range admitted.Edits {
		if e.Key != stated.Edits[i].Key {
			moved.Edits = append(moved.Edits, e)
		}
	}
	return moved
}
