package rest

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// working is what a denial calls the work of a cluster's worker.
const working ledger.Permission = "work"

// Guard decides what callers may do, and notes what it refuses.
type Guard struct {
	Callers Callers
	Ledger  interface {
		Object(ctx context.Context, key ledger.Key, at int64) (ledger.Object, error)
		Deny(ctx context.Context, d ledger.Denial) error
	}
	Limits *Limits
	Log    *slog.Logger
}

// Attempt is a caller's request to do something.
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

// May returns an error, and notes it, if a caller may not do something.
func (g Guard) May(ctx context.Context, a Attempt, p ledger.Permission, k ledger.Key) error {
	ok, err := g.Lets(ctx, a.Caller, p, k)
	if err != nil || ok {
		return err
	}
	return g.denied(ctx, a, p, k)
}

func (g Guard) denied(ctx context.Context, a Attempt, p ledger.Permission, k ledger.Key) error {
	return g.Denied(ctx, a, p, k, a.Subject()+" may not "+words[p],
		"ask an administrator for a grant of \""+string(p)+"\"")
}

// Denied notes a refused attempt, and returns the error for it. An attempt is noted also if its client went away.
func (g Guard) Denied(ctx context.Context, a Attempt, p ledger.Permission, k ledger.Key, message, fix string) error {
	object := ""
	if k.Kind != "" {
		object = k.String()
	}
	return g.Noted(ctx, a, p, &ledger.Error{Code: ledger.Denied, Object: object, Message: message, Fix: fix})
}

// Noted notes an attempt if the error is of code Denied, and returns the error.
func (g Guard) Noted(ctx context.Context, a Attempt, p ledger.Permission, err error) error {
	e, ok := errors.AsType[*ledger.Error](err)
	if !ok || e.Code != ledger.Denied {
		return err
	}
	d, new := g.Limits.note(ledger.Denial{Subject: a.Subject(), Permission: p, Object: e.Object, Request: a.Request},
		time.Now())
	if !new {
		return err
	}
	if failed := g.Ledger.Deny(context.WithoutCancel(ctx), d); failed != nil {
		g.Log.Error("denial is not noted", "request", a.Request, "error", failed)
	}
	return err
}

// LetsWrite tells whether a caller may write an object. only is nil for a caller who may write it whether or not it
// exists. For a caller who may only create it, or only change it, only is the generation that it must have
// (Edit.Permitted).
func (g Guard) LetsWrite(ctx context.Context, c ledger.Caller, k ledger.Key) (ok bool, only *int64, err error) {
	if ok, err = g.Lets(ctx, c, ledger.MayWrite, k); err != nil || ok {
		return ok, nil, err
	}
	now, err := g.Ledger.Object(ctx, k, 0)
	if err != nil && ledger.CodeOf(err) != ledger.NotFound {
		return false, nil, err
	}
	p, generation := ledger.MayChange, now.Generation
	if err != nil || now.IsDeleted() {
		p, generation = ledger.MayCreate, 0
	}
	ok, err = g.Lets(ctx, c, p, k)
	return ok, &generation, err
}

// MayWrite returns an error, and notes it, if the caller may not write an object. only is as LetsWrite says.
func (g Guard) MayWrite(ctx context.Context, a Attempt, k ledger.Key) (only *int64, err error) {
	ok, only, err := g.LetsWrite(ctx, a.Caller, k)
	if err == nil && !ok {
		err = g.denied(ctx, a, ledger.MayWrite, k)
	}
	return only, err
}

// Bound are edits with the generations that the objects must have, so that the caller may write them (Edit.Permitted).
func (g Guard) Bound(ctx context.Context, a Attempt, edits []ledger.Edit) ([]ledger.Edit, error) {
	edits = slices.Clone(edits)
	for i := range edits {
		e := &edits[i]
		if e.Delete {
			continue
		}
		var err error
		if e.Permitted, err = g.MayWrite(ctx, a, e.Key); err != nil {
			return nil, err
		}
	}
	return edits, nil
}

// MayAny refuses a caller who has none of the permissions for any object, and notes that. It is asked before the
// objects of the request are known. The error tells the caller to ask for the first permission of the list.
func (g Guard) MayAny(ctx context.Context, a Attempt, list ...ledger.Permission) error {
	if a.Caller.All {
		return nil
	}
	ok, err := g.Callers.MayAny(ctx, a.Caller, list...)
	if err != nil || ok {
		return err
	}
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = string(p)
	}
	return g.Denied(ctx, a, list[0], ledger.Key{},
		a.Subject()+" has no permission for this with any object ("+strings.Join(names, ", ")+")",
		"ask an administrator for a grant of \""+string(list[0])+"\"")
}

// MayWholly tells whether a caller may write all objects of one of the targets.
func (g Guard) MayWholly(ctx context.Context, c ledger.Caller, targets []ledger.Target) (bool, error) {
	for _, t := range targets {
		if ok, err := g.Lets(ctx, c, ledger.MayWrite, ledger.Key{Target: t.Name}); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// Subject names a caller: a cluster's worker by its cluster.
func (a Attempt) Subject() string {
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

func (s *server) guard() Guard { return Guard{s.Callers, s.Ledger, s.Limits, s.Log} }

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

// usual is the permission that an edit of a draft needs: to roll back, for a draft that goes back; else to delete an
// object, or to write it.
func usual(d ledger.Draft, e ledger.Edit) ledger.Permission {
	switch {
	case goesBack(d):
		return ledger.MayRollback
	case e.Delete:
		return ledger.MayDelete
	}
	return ledger.MayWrite
}

// mayCompare refuses a caller who asks what new values of a Secret would change, and may not read the Secret: the
// answer would tell whether the values are those that it has.
func (s *server) mayCompare(ctx context.Context, d ledger.Draft) error {
	for _, e := range d.Edits {
		if !comparable(e) {
			continue
		}
		if err := s.may(ctx, ledger.MayRead, e.Key); err != nil {
			return err
		}
	}
	return nil
}

// comparable tells whether an edit states values of a Secret. Then its outcome tells whether they are those it has.
func comparable(e ledger.Edit) bool { return e.IsSecret() && len(e.Content) > 0 }

// Blind tells whether edits state values of a Secret that the caller may not read.
func (g Guard) Blind(ctx context.Context, c ledger.Caller, edits []ledger.Edit) (bool, error) {
	for _, e := range edits {
		if !comparable(e) {
			continue
		}
		if ok, err := g.Lets(ctx, c, ledger.MayRead, e.Key); !ok || err != nil {
			return true, err
		}
	}
	return false, nil
}

// Told is what a change did, as its author may see it. If the author may not read a Secret, it does not tell to which
// older content the Secret has gone back.
func (g Guard) Told(ctx context.Context, c ledger.Caller, list []ledger.Edited) ([]ledger.Edited, error) {
	list = slices.Clone(list)
	for i := range list {
		e := &list[i]
		if !e.IsSecret() || e.Revision == 0 {
			continue
		}
		if ok, err := g.Lets(ctx, c, ledger.MayRead, e.Key); err != nil {
			return nil, err
		} else if !ok {
			e.Revision, e.BeforeRev, e.Hash = e.Generation, e.Before, ""
		}
	}
	return list, nil
}

// mayEdit returns an error, and notes it, if the caller may not do something with an object. Whether the caller may
// write an object may depend on whether it exists.
func (s *server) mayEdit(ctx context.Context, p ledger.Permission, k ledger.Key) error {
	if p == ledger.MayWrite {
		return s.mayWrite(ctx, k)
	}
	return s.may(ctx, p, k)
}

// letsEdit is as mayEdit, and notes nothing.
func (s *server) letsEdit(ctx context.Context, p ledger.Permission, k ledger.Key) (ok bool, err error) {
	if p == ledger.MayWrite {
		ok, _, err = s.guard().LetsWrite(ctx, askedOf(ctx).caller, k)
		return ok, err
	}
	return s.lets(ctx, p, k)
}

func (s *server) mayWrite(ctx context.Context, k ledger.Key) error {
	_, err := s.guard().MayWrite(ctx, askedOf(ctx).attempt(), k)
	return err
}

// mayDraft refuses a draft if the caller may not make all of its edits, or may not hold the objects that it holds or
// releases.
func (s *server) mayDraft(ctx context.Context, d ledger.Draft) error {
	if d.DryRun {
		if err := s.mayCompare(ctx, d); err != nil {
			return err
		}
	}
	for _, e := range d.Edits {
		if err := s.mayEdit(ctx, usual(d, e), e.Key); err != nil {
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

// readable are the items with objects that the caller may read.
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
