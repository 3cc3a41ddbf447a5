package rest

import (
	"context"

	"cardea.dev/cardea/internal/ledger"
)

// working is what a denial calls the work of a cluster's worker.
const working ledger.Permission = "work"

// lets tells whether the caller may do something.
func (s *server) lets(ctx context.Context, p ledger.Permission, k ledger.Key) (bool, error) {
	caller := askedOf(ctx).caller
	if caller.All {
		return true, nil
	}
	if caller.Cluster != "" {
		return false, nil
	}
	return s.Callers.May(ctx, caller, p, k)
}

// may refuses what the caller may not do, and notes that.
func (s *server) may(ctx context.Context, p ledger.Permission, k ledger.Key) error {
	ok, err := s.lets(ctx, p, k)
	if err != nil || ok {
		return err
	}
	return s.denied(ctx, p, k, askedOf(ctx).caller.Subject+" may not "+words[p],
		"ask an administrator for a grant of \""+string(p)+"\"")
}

// words say in messages what a permission is for.
var words = map[ledger.Permission]string{
	ledger.MayRead: "read it", ledger.MayWrite: "write it", ledger.MayDelete: "delete it",
	ledger.MayRollback: "undo or roll back its changes", ledger.MayHold: "hold or release it",
	ledger.MayPropose: "propose changes of it", ledger.MayApprove: "approve changes of it",
	ledger.MayAdmin: "administer the ledger",
}

// denied notes a refused attempt, and is the error that says so. An attempt is noted also if its client went away.
func (s *server) denied(ctx context.Context, p ledger.Permission, k ledger.Key, message, fix string) error {
	object := ""
	if k.Kind != "" {
		object = k.String()
	}
	s.note(ctx, p, object)
	return &ledger.Error{Code: ledger.Denied, Object: object, Message: message, Fix: fix}
}

// note notes a refused attempt.
func (s *server) note(ctx context.Context, p ledger.Permission, object string) {
	a := askedOf(ctx)
	err := s.Ledger.Deny(context.WithoutCancel(ctx), ledger.Denial{Subject: subject(a.caller), Permission: p,
		Object: object, Request: a.name})
	if err != nil {
		s.Log.Error("denial is not noted", "request", a.name, "error", err)
	}
}

// subject names a caller: a cluster's worker by its cluster.
func subject(c ledger.Caller) string {
	if c.Cluster != "" {
		return "cluster:" + c.Cluster
	}
	return c.Subject
}

// usual is the permission for an edit of a draft: to roll back for one that goes back, and no other; else to write what
// gets a content, and to delete what goes.
func usual(d ledger.Draft, e ledger.Edit) ledger.Permission {
	switch {
	case goesBack(d):
		return ledger.MayRollback
	case e.Delete:
		return ledger.MayDelete
	}
	return ledger.MayWrite
}

// mayDraft refuses a draft if the caller may not make all of it, or not hold what is held or released.
func (s *server) mayDraft(ctx context.Context, d ledger.Draft) error {
	for _, e := range d.Edits {
		if err := s.may(ctx, usual(d, e), e.Key); err != nil {
			return err
		}
		if d.Hold == nil && !d.Release {
			continue
		}
		if err := s.may(ctx, ledger.MayHold, e.Key); err != nil {
			return err
		}
	}
	return nil
}

// readable are the items whose objects the caller may read.
func readable[T any](ctx context.Context, s *server, list []T, key func(T) ledger.Key) ([]T, error) {
	seen := make([]T, 0, len(list))
	for _, item := range list {
		ok, err := s.lets(ctx, ledger.MayRead, key(item))
		if err != nil {
			return nil, err
		}
		if ok {
			seen = append(seen, item)
		}
	}
	return seen, nil
}
