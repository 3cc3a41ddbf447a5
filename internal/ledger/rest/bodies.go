package rest

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"cardea.dev/cardea/internal/core/ledger"
)

// checkKey is the key in an operation's metadata under which the check stands that is made before the body is read. An
// operation without one is for every known caller, or for a cluster's worker (guard.go).
const checkKey = "first"

// largeKey is the key in an operation's metadata that says that the body is a change: a caller who may write a whole
// target may send a larger one.
const largeKey = "large"

// bodyCheck refuses a caller who may not do an operation, whatever its body says.
type bodyCheck func(s *server, h huma.Context) error

// anyOf is the check of callers who have one of the permissions for some object.
func anyOf(list ...ledger.Permission) bodyCheck {
	return func(s *server, h huma.Context) error {
		return s.newGuard().MayAny(h.Context(), requestInfoOf(h.Context()).toAttempt(), list...)
	}
}

// checkAdmin is the check of administrators.
func checkAdmin(s *server, h huma.Context) error { return s.mayAdmin(h.Context()) }

// checkWrite is the check of who writes the object of the path.
func checkWrite(s *server, h huma.Context) error {
	return s.mayWrite(h.Context(), s.keyOf(ObjectPathParams{Target: h.Param("target"), Kind: h.Param("kind"),
		Namespace: h.Param("namespace"), Name: h.Param("name")}))
}

// limitBodies lets a body be read if its sender passes the operation's check, and if there is room for it.
func (s *server) limitBodies(h huma.Context, next func(huma.Context)) {
	op := h.Operation()
	if op.RequestBody == nil {
		next(h)
		return
	}
	r, w := humago.Unwrap(h)
	release, err := s.reserveBody(h)
	if err != nil {
		s.writeError(w, r, err)
		return
	}
	defer release()
	next(h)
}

func (s *server) reserveBody(h huma.Context) (release func(), err error) {
	r, w := humago.Unwrap(h)
	op := h.Operation()
	if check, is := op.Metadata[checkKey].(bodyCheck); is {
		if err := check(s, h); err != nil {
			return nil, err
		}
	}
	most := int64(BodyBytes)
	if r.ContentLength > most && op.Metadata[largeKey] != nil {
		if most, err = s.mostBytes(h.Context()); err != nil {
			return nil, err
		}
	}
	return s.Limits.ReserveBody(w, r, requestInfoOf(h.Context()).toAttempt().Subject(), most)
}

// mostBytes is how many bytes a change of the caller may have.
func (s *server) mostBytes(ctx context.Context) (int64, error) {
	targets, err := s.Ledger.Targets(ctx)
	if err != nil {
		return 0, err
	}
	whole, err := s.newGuard().MayWholly(ctx, requestInfoOf(ctx).caller, targets)
	if err != nil || !whole {
		return BodyBytes, err
	}
	return ledger.MaxBytes, nil
}
