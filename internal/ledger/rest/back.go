package rest

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"cardea.dev/cardea/internal/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// gatewayGroup is the API group of Gateways.
const gatewayGroup = "gateway.networking.k8s.io"

func back(s *server, api huma.API) {
	handle(s, api, huma.Operation{Method: http.MethodPost, Path: "/changes/{number}/undo", Summary: "Undo change",
		Responses: also[ledger.Change](api, http.StatusCreated)}, s.undo)
	handle(s, api, huma.Operation{Method: http.MethodPost, Path: "/gateways/{namespace}/{name}/rollback",
		Summary: "Roll back gateway", Responses: also[ledger.Change](api, http.StatusCreated),
		Description: "The Gateway, its routes, their backends and policies become as they were, in one change. " +
			"Secrets and Namespaces stay as they are."}, s.rollback)
}

func (s *server) undo(ctx context.Context, in *struct {
	Number  int64  `path:"number" minimum:"1"`
	Request string `header:"Idempotency-Key" maxLength:"200"`
	Body    wire.UndoBody
}) (*oneChange, error) {
	c, err := s.Ledger.Change(ctx, in.Number)
	if err != nil {
		return nil, err
	}
	for _, e := range c.Edited { // before anything is told of them
		if err := s.may(ctx, ledger.MayRollback, e.Key); err != nil {
			return nil, err
		}
	}
	if out, ok, err := s.repeated(ctx, in.Request, backTo(ledger.Undo, in.Number)); ok || err != nil {
		return out, err
	}
	d, err := ledger.UndoOf(ctx, s.Ledger, in.Number)
	if err != nil {
		return nil, err
	}
	d.Deletions = in.Body.Deletions
	return s.commitBack(ctx, d, in.Request, in.Body.Message, in.Body.Release, in.Body.DryRun, nil)
}

func (s *server) rollback(ctx context.Context, in *struct {
	Namespace string `path:"namespace"`
	Name      string `path:"name"`
	Request   string `header:"Idempotency-Key" maxLength:"200"`
	Body      wire.RollbackBody
}) (*oneChange, error) {
	b := in.Body
	if s.Closure == nil {
		return nil, &ledger.Error{Code: ledger.Invalid, Message: "this server does not roll back Gateways",
			Fix: "undo changes, or send revisions of the objects"}
	}
	gateway := ledger.Key{Target: b.Target, Group: gatewayGroup, Kind: "Gateway", Namespace: in.Namespace, Name: in.Name}
	if gateway.Target == "" {
		gateway.Target = ledger.DefaultTarget
	}
	if err := s.may(ctx, ledger.MayRollback, gateway); err != nil {
		return nil, err
	}
	if out, ok, err := s.repeated(ctx, in.Request, backTo(ledger.Rollback, b.To)); ok || err != nil {
		return out, err
	}
	keys, err := s.closure(ctx, gateway, b.To)
	if err != nil {
		return nil, err
	}
	d, err := ledger.RollbackOf(ctx, s.Ledger, keys, b.To)
	if err != nil {
		return nil, err
	}
	if !b.Shared {
		if err := s.shared(ctx, gateway, d); err != nil {
			return nil, err
		}
	}
	d.Deletions = b.Deletions
	return s.commitBack(ctx, d, in.Request, b.Message, b.Release, b.DryRun, holdOf(b.Hold, askedOf(ctx).caller.Subject))
}

// closure is what belongs to a Gateway now or belonged to it then, without what never goes back: a certificate that
// was replaced may have expired, and a Namespace holds more than this Gateway's objects.
func (s *server) closure(ctx context.Context, gateway ledger.Key, to int64) ([]ledger.Key, error) {
	var keys []ledger.Key
	for _, at := range []int64{to, 0} {
		list, err := s.Closure.Closure(ctx, gateway, at)
		if err != nil && ledger.CodeOf(err) != ledger.NotFound {
			return nil, err
		}
		keys = append(keys, list...)
	}
	keys = slices.DeleteFunc(keys, func(k ledger.Key) bool {
		return k.IsSecret() || k.Kind == "Namespace" && k.Group == ""
	})
	slices.SortFunc(keys, ledger.Key.Compare)
	keys = slices.Compact(keys)
	if len(keys) == 0 {
		return nil, &ledger.Error{Code: ledger.NotFound, Object: gateway.String(),
			Message: "is not in the ledger, and was not after that change"}
	}
	return keys, nil
}

// shared refuses a rollback that would change objects that other Gateways use, too.
func (s *server) shared(ctx context.Context, gateway ledger.Key, d ledger.Draft) error {
	edited := map[ledger.Key]bool{}
	for _, e := range d.Edits {
		edited[e.Key] = true
	}
	q := ledger.ObjectsQuery{Target: gateway.Target, Group: gatewayGroup, Kind: "Gateway", Limit: 1000}
	for {
		list, err := s.Ledger.Objects(ctx, q)
		if err != nil {
			return err
		}
		for _, other := range list.Objects {
			if other.Key == gateway {
				continue
			}
			keys, err := s.Closure.Closure(ctx, other.Key, 0)
			if err != nil {
				return err
			}
			if i := slices.IndexFunc(keys, func(k ledger.Key) bool { return edited[k] }); i >= 0 {
				return &ledger.Error{Code: ledger.Conflict, Object: keys[i].String(),
					Message: "is used by " + other.Key.String() + ", too, which would change with it",
					Fix:     "roll back with shared: true (--shared) if that is meant"}
			}
		}
		if !list.More || len(list.Objects) == 0 {
			return nil
		}
		q.At, q.After = list.At, &list.Objects[len(list.Objects)-1].Key
	}
}

// commitBack makes a change of a draft that goes back.
func (s *server) commitBack(ctx context.Context, d ledger.Draft, request, message string, release, dryRun bool,
	hold *ledger.Hold) (*oneChange, error) {
	d.Request, d.Release, d.DryRun, d.Hold = request, release, dryRun, hold
	if message != "" {
		d.Message = message
	}
	if err := s.mayDraft(ctx, d, true); err != nil {
		return nil, err
	}
	c, err := s.commit(ctx, d, "")
	if err != nil {
		return nil, err
	}
	return changed(c), nil
}
