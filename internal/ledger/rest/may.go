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

// workPermission is what a denial calls the work of a cluster's worker.
const workPermission ledger.Permission = "work"

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

// IsAllowed tells whether a caller may do something.
func (g Guard) IsAllowed(ctx context.Context, c ledger.Caller, p ledger.Permission, k ledger.Key) (bool, error) {
	if c.All || c.Cluster != "" {
		return c.All, nil
	}
	return g.Callers.May(ctx, c, p, k)
}

// CheckPermission returns an error, and notes it, if a caller may not do something.
func (g Guard) CheckPermission(ctx context.Context, a Attempt, p ledger.Permission, k ledger.Key) error {
	ok, err := g.IsAllowed(ctx, a.Caller, p, k)
	if err != nil || ok {
		return err
	}
	return g.denyAttempt(ctx, a, p, k)
}

func (g Guard) denyAttempt(ctx context.Context, a Attempt, p ledger.Permission, k ledger.Key) error {
	return g.DenyWith(ctx, a, p, k, a.Subject()+" may not "+p.Describe(),
		"ask an administrator for a grant of \""+string(p)+"\"")
}

// DenyWith notes a refused attempt, and returns the error for it. An attempt is noted also if its client went away.
func (g Guard) DenyWith(ctx context.Context, a Attempt, p ledger.Permission, k ledger.Key, message, fix string) error {
	object := ""
	if k.Kind != "" {
		object = k.String()
	}
	return g.NoteDenial(ctx, a, p, &ledger.Error{Code: ledger.Denied, Object: object, Message: message, Fix: fix})
}

// NoteDenial notes an attempt if the error is of code Denied, and returns the error.
func (g Guard) NoteDenial(ctx context.Context, a Attempt, p ledger.Permission, err error) error {
	e, ok := errors.AsType[*ledger.Error](err)
	if !ok || e.Code != ledger.Denied {
		return err
	}
	d, new := g.Limits.noteDenial(ledger.Denial{Subject: a.Subject(), Permission: p, Object: e.Object, Request: a.Request},
		time.Now())
	if !new {
		return err
	}
	if failed := g.Ledger.Deny(context.WithoutCancel(ctx), d); failed != nil {
		g.Log.Error("denial is not noted", "request", a.Request, "error", failed)
	}
	return err
}

// IsWriteAllowed tells whether a caller may write an object. only is nil for a caller who may write it whether or not
// it exists. For a caller who may only create it, or only change it, only is the generation that it must have
// (Edit.Permitted).
func (g Guard) IsWriteAllowed(ctx context.Context, c ledger.Caller, k ledger.Key) (ok bool, only *int64, err error) {
	if ok, err = g.IsAllowed(ctx, c, ledger.MayWrite, k); err != nil || ok {
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
	ok, err = g.IsAllowed(ctx, c, p, k)
	return ok, &generation, err
}

// MayWrite returns an error, and notes it, if the caller may not write an object. only is as IsWriteAllowed says.
func (g Guard) MayWrite(ctx context.Context, a Attempt, k ledger.Key) (only *int64, err error) {
	ok, only, err := g.IsWriteAllowed(ctx, a.Caller, k)
	if err == nil && !ok {
		err = g.denyAttempt(ctx, a, ledger.MayWrite, k)
	}
	return only, err
}

// BindEdits are edits with the generations that the objects must have, so that the caller may write them
// (Edit.Permitted).
func (g Guard) BindEdits(ctx context.Context, a Attempt, edits []ledger.Edit) ([]ledger.Edit, error) {
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
	return g.DenyWith(ctx, a, list[0], ledger.Key{},
		a.Subject()+" has no permission for this with any object ("+strings.Join(names, ", ")+")",
		"ask an administrator for a grant of \""+string(list[0])+"\"")
}

// MayWholly tells whether a caller may write all objects of one of the targets.
func (g Guard) MayWholly(ctx context.Context, c ledger.Caller, targets []ledger.Target) (bool, error) {
	for _, t := range targets {
		if ok, err := g.IsAllowed(ctx, c, ledger.MayWrite, ledger.Key{Target: t.Name}); ok || err != nil {
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

func (s *server) newGuard() Guard { return Guard{s.Callers, s.Ledger, s.Limits, s.Log} }

func (a requestInfo) toAttempt() Attempt { return Attempt{a.caller, a.name} }

func (s *server) isAllowed(ctx context.Context, p ledger.Permission, k ledger.Key) (bool, error) {
	return s.newGuard().IsAllowed(ctx, requestInfoOf(ctx).caller, p, k)
}

func (s *server) checkPermission(ctx context.Context, p ledger.Permission, k ledger.Key) error {
	return s.newGuard().CheckPermission(ctx, requestInfoOf(ctx).toAttempt(), p, k)
}

func (s *server) denyRequest(ctx context.Context, p ledger.Permission, k ledger.Key, message, fix string) error {
	return s.newGuard().DenyWith(ctx, requestInfoOf(ctx).toAttempt(), p, k, message, fix)
}

func (s *server) noteDenial(ctx context.Context, p ledger.Permission, err error) error {
	return s.newGuard().NoteDenial(ctx, requestInfoOf(ctx).toAttempt(), p, err)
}

// neededPermission is the permission that an edit of a draft needs: to roll back, for a draft that goes back; else to
// delete an object, or to write it.
func neededPermission(d ledger.Draft, e ledger.Edit) ledger.Permission {
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
		if !statesSecret(e) {
			continue
		}
		if err := s.checkPermission(ctx, ledger.MayRead, e.Key); err != nil {
			return err
		}
	}
	return nil
}

// statesSecret tells whether an edit states values of a Secret. Then its outcome tells whether they are those it has.
func statesSecret(e ledger.Edit) bool { return e.IsSecret() && len(e.Content) > 0 }

// IsBlind tells whether edits state values of a Secret that the caller may not read.
func (g Guard) IsBlind(ctx context.Context, c ledger.Caller, edits []ledger.Edit) (bool, error) {
	for _, e := range edits {
		if !statesSecret(e) {
			continue
		}
		if ok, err := g.IsAllowed(ctx, c, ledger.MayRead, e.Key); !ok || err != nil {
			return true, err
		}
	}
	return false, nil
}

// ShowEdited is what a change did, as its author may see it. If the author may not read a Secret, it does not tell to
// which older content the Secret has gone back.
func (g Guard) ShowEdited(ctx context.Context, c ledger.Caller, list []ledger.Edited) ([]ledger.Edited, error) {
	list = slices.Clone(list)
	for i := range list {
		e := &list[i]
		if !e.IsSecret() || e.Revision == 0 {
			continue
		}
		if ok, err := g.IsAllowed(ctx, c, ledger.MayRead, e.Key); err != nil {
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
	return s.checkPermission(ctx, p, k)
}

// isEditAllowed is as mayEdit, and notes nothing.
func (s *server) isEditAllowed(ctx context.Context, p ledger.Permission, k ledger.Key) (ok bool, err error) {
	if p == ledger.MayWrite {
		ok, _, err = s.newGuard().IsWriteAllowed(ctx, requestInfoOf(ctx).caller, k)
		return ok, err
	}
	return s.isAllowed(ctx, p, k)
}

func (s *server) mayWrite(ctx context.Context, k ledger.Key) error {
	_, err := s.newGuard().MayWrite(ctx, requestInfoOf(ctx).toAttempt(), k)
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
		if err := s.mayEdit(ctx, neededPermission(d, e), e.Key); err != nil {
			return err
		}
		if d.Hold == nil && !d.Release {
			continue
		}
		if err := s.checkPermission(ctx, ledger.MayHold, e.Key); err != nil {
			return err
		}
	}
	return nil
}

// filterReadable are the items with objects that the caller may read.
func filterReadable[T any](ctx context.Context, s *server, list []T, key func(T) ledger.Key) ([]T, error) {
	seen := make([]T, 0, len(list))
	for _, item := range list {
		ok, err := s.isAllowed(ctx, ledger.MayRead, key(item))
		if err != nil {
			return nil, err
		}
		if ok {
			seen = append(seen, item)
		}
	}
	return seen, nil
}
