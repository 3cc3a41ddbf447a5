package rest

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// gatewayGroup is the API group of Gateways.
const gatewayGroup = "gateway.networking.k8s.io"

// registerBack are the short forms of POST /changes with back.
func registerBack(s *server, api huma.API) {
	those := map[string]any{checkKey: anyOf(ledger.MayRollback)}
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/changes/{number}/undo", Summary: "Undo change",
		Responses: extraResponses[ledger.Change](api, http.StatusCreated), Metadata: those}, s.undoChange)
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/gateways/{namespace}/{name}/rollback",
		Summary: "Roll back gateway", Responses: extraResponses[ledger.Change](api, http.StatusCreated), Metadata: those,
		Description: "The Gateway, its routes, their backends and policies become as they were, in one change. " +
			"Secrets and Namespaces stay as they are."}, s.rollBackGateway)
}

func (s *server) undoChange(ctx context.Context, in *struct {
	Number  int64  `path:"number" minimum:"1"`
	Request string `header:"Idempotency-Key" maxLength:"200"`
	Body    wire.UndoBody
}) (*oneChange, error) {
	return s.goBack(ctx, ledger.Draft{Verb: ledger.Undo, Of: in.Number, Back: &ledger.Back{}}, in.Request, in.Body)
}

func (s *server) rollBackGateway(ctx context.Context, in *struct {
	Namespace string `path:"namespace"`
	Name      string `path:"name"`
	Request   string `header:"Idempotency-Key" maxLength:"200"`
	Body      wire.RollbackBody
}) (*oneChange, error) {
	gateway := ledger.Key{Target: in.Body.Target, Group: gatewayGroup, Kind: "Gateway", Namespace: in.Namespace,
		Name: in.Name}
	if gateway.Target == "" {
		gateway.Target = ledger.DefaultTarget
	}
	return s.goBack(ctx, ledger.Draft{Verb: ledger.Rollback, Of: in.Body.To,
		Back: &ledger.Back{Objects: []ledger.Key{gateway}, Shared: in.Body.Shared}}, in.Request, in.Body.UndoBody)
}

// goBack makes a change of a draft that says what goes back.
func (s *server) goBack(ctx context.Context, d ledger.Draft, request string, b wire.UndoBody) (*oneChange, error) {
	d.Request, d.Message, d.Release, d.DryRun, d.Deletions = request, b.Message, b.Release, b.DryRun, b.Deletions
	d.Hold = holdOf(b.Hold, requestInfoOf(ctx).caller.Subject)
	return s.makeChange(ctx, d, b.IfPreview)
}
