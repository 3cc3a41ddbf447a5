package rest

import (
	"context"
	"errors"
	"log/slog"

	"cardea.dev/cardea/internal/ledger"
)

// working is what a denial calls the work of a cluster's worker.
const working ledger.Permission = "work"

// Guard decides what callers may do, and notes what they were not let do.
type Guard struct {
	Callers Callers
	Denials interface {
		Deny(ctx context.Context, d ledger.Denial) error
	}
	Log *slog.Logger
}

// Attempt is who tries something.
type Attempt struct {
	Caller  ledger.Caller
	Request string // "PUT /ledger/v1/..."
}

// Lets tells whether a caller may do something.
func (g Guard) Lets(ctx context.Context, c ledger.Caller, p ledger.Permission, k ledger.Key) (bool, error) {
	if c.All || c.Cluster != "" {
		return c.All, nil
	}
	return g.Callers.May(ctx, c, p, k)
}

// May refuses what a caller may not do, and notes that.
func (g Guard) May(ctx context.Context, a Attempt, p ledger.Permission, k ledger.Key) error {
	ok, err := g.Lets(ctx, a.Caller, p, k)
	if err != nil || ok {
		return err
	}
	return g.Denied(ctx, a, p, k, a.subject()+" may not "+words[p],
		"ask an administrator for a grant of \""+string(p)+"\"")
}

// Denied notes a refused attempt, and is the error that says so. An attempt is noted also if its client went away.
func (g Guard) Denied(ctx context.Context, a Attempt, p ledger.Permission, k ledger.Key, message, fix string) error {
	object := ""
	if k.Kind != "" {
		object = k.String()
	}
	return g.Noted(ctx, a, p, &ledger.Error{Code: ledger.Denied, Object: object, Message: message, Fix: fix})
}

// Noted notes an attempt if an error says that it was denied, and answers the error.
func (g Guard) Noted(ctx context.Context, a Attempt, p ledger.Permission, err error) error {
	e, ok := errors.AsType[*ledger.Error](err)
	if !ok || e.Code != ledger.Denied {
		return err
	}
	failed := g.Denials.Deny(context.WithoutCancel(ctx), ledger.Denial{Subject: a.subject(), Permission: p,
		Object: e.Object, Request: a.Request})
	if failed != nil {
		g.Log.Error("denial is not noted", "request", a.Request, "error", failed)
	}
	return err
}

// subject names a caller: a cluster's worker by its cluster.
func (a Attempt) subject() string {
	if a.Caller.Cluster != "" {
		return "cluster:" + a.Caller.Cluster
	}
	return a.Caller.Subject
}

// words say in messages what a permission is for.
var words = map[ledger.Permission]string{
	ledger.MayRead: "read it", ledger.MayWrite: "write it", ledger.MayDelete: "delete it",
	ledger.MayRollback: "undo or roll back its changes", ledger.MayHold: "hold or release it",
	ledger.MayPropose: "propose changes of it", ledger.MayApprove: "approve changes of it",
	ledger.MayAdmin: "administer the ledger",
}

func (s *server) guard() Guard { return Guard{s.Callers, s.Ledger, s.Log} }

func (a asked) attempt() Attempt { return Attempt{a.caller, a.name} }

func (s *server) lets(ctx context.Context, p ledger.Permission, k ledger.Key) (bool, error) {
	return s.guard().Lets(ctx, askedOf(ctx).caller, p, k)
}

func (s *server) may(ctx context.Context, p ledger.Permission, k ledger.Key) error {
	return s.guard().May(ctx, askedOf(ctx).attempt(), p, k)
}

func (s *server) denied(ctx context.Context, p ledger.Permission, k ledger.Key, message, fix string) error {
	return s.guard().Denied(ctx, askedOf(ctx).attempt(), p, k, message, fix)
}

func (s *server) noted(ctx context.Context, p ledger.Permission, err error) error {
	return s.guard().Noted(ctx, askedOf(ctx).attempt(), p, err)
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
