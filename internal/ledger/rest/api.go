package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// newAPI makes huma speak as this API does: strict JSON in, problems out.
func (s *server) newAPI() huma.API {
	json := huma.Format{Marshal: encodeJSON, Unmarshal: decodeJSON}
	schemas := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	schemas.RegisterTypeAlias(reflect.TypeFor[ledger.Content](), reflect.TypeFor[anyObject]())
	api := humago.New(s.mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{Title: "Cardea ledger", Version: s.Version,
				Description: "What should be, who said so, what became of it, and the way back."},
			Components: &huma.Components{
				Schemas:         schemas,
				SecuritySchemes: map[string]*huma.SecurityScheme{"bearer": {Type: "http", Scheme: "bearer"}},
			},
			Security: []map[string][]string{{"bearer": {}}},
		},
		Formats:                      map[string]huma.Format{"application/json": json, "json": json},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers: []huma.Transformer{func(h huma.Context, _ string, v any) (any, error) {
			return toProblem(schemas, h.Operation(), v)
		}},
	})
	api.UseMiddleware(s.confineWorkers, checkMediaType, s.limitBodies)
	return api
}

// anyObject is the schema of a ledger.Content: an object as Kubernetes has them.
type anyObject struct{}

func (anyObject) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Nullable: true,
		Description: "A Kubernetes object: apiVersion, kind, metadata and the rest"}
}

// noBodyTimeout keeps huma from setting a deadline for bodies of its own: 0 would be 5 s.
const noBodyTimeout = -1

// addOperation adds an operation. Its path is below Prefix. Errors of the handler become problems.
func addOperation[I, O any](s *server, api huma.API, op huma.Operation,
	handler func(context.Context, *I) (*O, error)) {
	op.OperationID = strings.ReplaceAll(strings.ToLower(op.Summary), " ", "-")
	// The limits of a body's size and time stand elsewhere (bodies.go).
	op.Path, op.MaxBodyBytes, op.BodyReadTimeout = Prefix+op.Path, ledger.MaxBytes+1, noBodyTimeout
	problem := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[wire.Problem](), true, "Problem")
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	op.Responses["default"] = &huma.Response{Description: "Why it was not done",
		Content: map[string]*huma.MediaType{wire.ProblemType: {Schema: problem}}}
	huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, in)
		if _, same := errors.AsType[notModified](err); same || err == nil {
			return out, err
		}
		return nil, s.problemFor(ctx, err)
	})
}

// extraResponses says that an operation answers with other statuses, too: with a body of a type, or without.
func extraResponses[T any](api huma.API, statuses ...int) map[string]*huma.Response {
	list := map[string]*huma.Response{}
	for _, status := range statuses {
		r := &huma.Response{Description: http.StatusText(status)}
		if status != http.StatusNotModified {
			schema := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
			r.Content = map[string]*huma.MediaType{"application/json": {Schema: schema}}
		}
		list[fmt.Sprint(status)] = r
	}
	return list
}

// publishDocument is the document that clients get.
func publishDocument(api huma.API) *huma.OpenAPI {
	doc := api.OpenAPI()
	for _, unused := range []string{"ErrorModel", "ErrorDetail"} {
		delete(doc.Components.Schemas.Map(), unused)
	}
	return doc
}

// checkMediaType refuses bodies of a media type that the operation does not take.
func checkMediaType(ctx huma.Context, next func(huma.Context)) {
	sent, body := ctx.Header("Content-Type"), ctx.Operation().RequestBody
	if body == nil || sent == "" {
		next(ctx)
		return
	}
	if is, _, err := mime.ParseMediaType(sent); err == nil && body.Content[is] != nil {
		next(ctx)
		return
	}
	_, w := humago.Unwrap(ctx)
	writeProblem(w, &wire.Problem{Status: http.StatusUnsupportedMediaType, Code: ledger.Invalid,
		Title:  http.StatusText(http.StatusUnsupportedMediaType),
		Detail: fmt.Sprintf("bodies of type %q are not read here", sent),
		Fix:    "send " + strings.Join(slices.Sorted(maps.Keys(body.Content)), " or ")})
}

// toProblem turns huma's errors into problems of this API. Values of the request are not repeated: they may be secret.
func toProblem(schemas huma.Registry, op *huma.Operation, v any) (any, error) {
	e, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	p := &wire.Problem{Title: http.StatusText(e.Status), Status: e.Status, Detail: e.Detail, Code: ledger.Invalid}
	switch e.Status {
	case http.StatusRequestEntityTooLarge:
		return wire.ProblemOf(tooLarge(ledger.MaxBytes)), nil
	case http.StatusInternalServerError, http.StatusRequestTimeout:
		p.Code = ledger.Unavailable
	}
	for i, detail := range e.Errors {
		if i == 0 {
			p.Detail, p.Field = detail.Message, strings.TrimPrefix(detail.Location, "body.")
			p.Fix = suggestNames(schemas, op, detail)
			continue
		}
		p.Detail += fmt.Sprintf("; %s: %s", strings.TrimPrefix(detail.Location, "body."), detail.Message)
		if i == 4 {
			p.Detail += fmt.Sprintf("; and %d more", len(e.Errors)-5)
			break
		}
	}
	return p, nil
}

func encodeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
