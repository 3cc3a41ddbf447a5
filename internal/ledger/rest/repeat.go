package rest

import (
	"context"
	"errors"
	"math"

	"cardea.dev/cardea/internal/core/ledger"
)

// findRepeated finds the change that a request made when it came first; false: it comes for the first time. A ledger
// knows repeats by what they want, but what undo, a rollback or a patch wants is computed anew from what is there now.
// same tells whether a change can be what the request made; if it can't, the key was used for something else
// (Conflict).
func (s *server) findRepeated(ctx context.Context, request string, same func(ledger.Change) bool) (out *oneChange,
	known bool, err error) {
	if request == "" {
		return nil, false, nil
	}
	// No object has this generation, so a ledger that does not know the request refuses the draft, and writes nothing.
	never := int64(math.MaxInt64)
	probe := ledger.Draft{Author: requestInfoOf(ctx).caller.Subject, Request: request, Edits: []ledger.Edit{{Delete: true,
		Key: ledger.Key{Target: ledger.DefaultTarget, Kind: "Request", Name: "probe"}, Expect: &never}}}
	_, err = s.Ledger.Commit(ctx, probe)
	e, ok := errors.AsType[*ledger.Error](err)
	switch {
	case !ok:
		return nil, false, err
	case e.Code == ledger.Stale:
		return nil, false, nil
	case e.Code != ledger.Conflict || e.Field != "request":
		return nil, false, err
	case len(e.Later) == 0:
		return changeAnswer(ledger.Change{Repeated: true}), true, nil // it changed nothing
	}
	c, err := s.Ledger.Change(ctx, e.Later[0])
	if err != nil {
		return nil, false, err
	}
	if !same(c) {
		return nil, false, e
	}
	c.Repeated = true
	out, err = s.answerChange(ctx, c)
	return out, true, err
}

// backTo tells the changes that undo or rollback made of another one.
func backTo(verb ledger.Verb, of int64) func(ledger.Change) bool {
	return func(c ledger.Change) bool { return c.Verb == verb && c.Of == of }
}

// changesOnly tells the changes of one object.
func changesOnly(k ledger.Key) func(ledger.Change) bool {
	return func(c ledger.Change) bool { return len(c.Edited) == 1 && c.Edited[0].Key == k }
}

// changesWithin tells the changes of objects that a draft edits.
func changesWithin(d ledger.Draft) func(ledger.Change) bool {
	keys := map[ledger.Key]bool{}
	for _, e := range d.Edits {
		keys[e.Key] = true
	}
	return func(c ledger.Change) bool {
		for _, e := range c.Edited {
			if !keys[e.Key] {
				return false
			}
		}
		return true
	}
}
