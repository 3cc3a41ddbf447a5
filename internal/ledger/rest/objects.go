package rest

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// ObjectPathParams is the object that a path names.
type ObjectPathParams struct {
	Target    string `path:"target" example:"default"`
	Kind      string `path:"kind" example:"HTTPRoute.gateway.networking.k8s.io" doc:"Kind, or Kind.group"`
	Namespace string `path:"namespace" example:"shop" doc:"- for kinds without namespaces"`
	Name      string `path:"name" example:"web"`
}

// keyOf is the object that a path or a query names.
func (s *server) keyOf(n ObjectPathParams) ledger.Key {
	kind, group, _ := strings.Cut(n.Kind, ".")
	k := withTarget(ledger.Key{Target: n.Target, Group: group, Kind: kind, Namespace: n.Namespace, Name: n.Name})
	if k.Namespace == "-" {
		k.Namespace = ""
	}
	return s.withGroup(k)
}

// withGroup is a key with the group that is meant if none is stated.
func (s *server) withGroup(k ledger.Key) ledger.Key {
	if k.Group == "" && k.Kind != "" && s.Kind != nil {
		if group, kind, known := s.Kind(k.Kind); known {
			k.Group, k.Kind = group, kind
		}
	}
	return k
}

// WriteParams is what all requests that write one object can say.
type WriteParams struct {
	ObjectPathParams
	Conditions
	DryRun  bool   `query:"dryRun" doc:"Write nothing; answer the change that it would be"`
	Message string `query:"message" maxLength:"4096" doc:"Why"`
	Request string `header:"Idempotency-Key" maxLength:"200" doc:"Repeats of the request answer the first one's change"`
}

type oneObject struct {
	ETag string `header:"ETag"`
	Body ledger.Object
}

type oneChange struct {
	Status   int
	ETag     string `header:"ETag" doc:"Of the object's generation, if one object was written"`
	Location string `header:"Location"`
	Body     ledger.Change
}

const objectPath = "/targets/{target}/objects/{kind}/{namespace}/{name}"

func registerObjects(s *server, api huma.API) {
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: objectPath, Summary: "Get object",
		Responses: extraResponses[any](api, http.StatusNotModified)}, s.getObject)
	created := func() map[string]*huma.Response { return extraResponses[ledger.Change](api, http.StatusCreated) }
	writers := map[string]any{checkKey: bodyCheck(checkWrite)}
	addOperation(s, api, huma.Operation{Method: http.MethodPut, Path: objectPath, Summary: "Put object",
		Description: "The body is the whole object, or what GET answers, of which only content counts.",
		Responses:   created(), Metadata: writers, SkipValidateBody: true}, s.putObject)
	addOperation(s, api, huma.Operation{Method: http.MethodPatch, Path: objectPath, Summary: "Patch object",
		Responses: created(), Metadata: writers, SkipValidateBody: true}, s.patchObject)
	addOperation(s, api, huma.Operation{Method: http.MethodDelete, Path: objectPath, Summary: "Delete object",
		Responses: created()}, s.deleteObject)
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: objectPath + "/history",
		Summary: "Get history of object"}, s.getHistory)
}

func (s *server) getObject(ctx context.Context, in *struct {
	ObjectPathParams
	At          int64  `query:"at" minimum:"0" doc:"As it was after this change"`
	Deleted     bool   `query:"deleted" doc:"Answer also what is deleted (not 404), or not kept any more (not 410)"`
	IfNoneMatch string `header:"If-None-Match"`
}) (*oneObject, error) {
	key := s.keyOf(in.ObjectPathParams)
	if err := s.checkPermission(ctx, ledger.MayRead, key); err != nil {
		return nil, err
	}
	o, err := s.Ledger.Object(ctx, key, in.At)
	switch {
	case err != nil:
		return nil, err
	case o.IsDeleted() && !in.Deleted:
		return nil, &ledger.Error{Code: ledger.NotFound, Object: key.String(),
			Message: fmt.Sprintf("was deleted by change %d", o.Change),
			Fix:     fmt.Sprintf("ask for it as it was before, with ?at=%d", o.Change-1)}
	case o.Forgotten && !in.Deleted:
		return nil, &ledger.Error{Code: ledger.Compacted, Object: key.String(),
			Message: fmt.Sprintf("the content of generation %d is not kept any more", o.Generation)}
	case matchesETag(in.IfNoneMatch, o.Generation):
		return nil, huma.ErrorWithHeaders(notModified{}, http.Header{"Etag": {wire.ETag(o.Generation)}})
	}
	return &oneObject{ETag: wire.ETag(o.Generation), Body: s.redactSecret(o)}, nil
}

// notModified is the answer to a GET of what the client has.
type notModified struct{}

func (notModified) Error() string  { return "not modified" }
func (notModified) GetStatus() int { return http.StatusNotModified }

func (s *server) putObject(ctx context.Context, in *struct {
	WriteParams
	Body ledger.Content
}) (*oneChange, error) {
	return s.writeObject(ctx, in.WriteParams, func(ledger.Object) (ledger.Edit, error) {
		return editFromContent(s.keyOf(in.ObjectPathParams), contentIn(in.Body))
	})
}

func (s *server) patchObject(ctx context.Context, in *struct {
	WriteParams
	Body ledger.Content `contentType:"application/merge-patch+json"`
}) (*oneChange, error) {
	return s.writeObject(ctx, in.WriteParams, func(now ledger.Object) (ledger.Edit, error) {
		if now.IsDeleted() {
			return ledger.Edit{}, &ledger.Error{Code: ledger.NotFound, Object: s.keyOf(in.ObjectPathParams).String(),
				Message: "is not in the ledger", Fix: "create it with PUT"}
		}
		if now.Forgotten {
			return ledger.Edit{}, &ledger.Error{Code: ledger.Compacted, Object: s.keyOf(in.ObjectPathParams).String(),
				Message: "its content is not kept, so it can't be patched", Fix: "write it whole, with PUT"}
		}
		if _, err := now.DecodeContent(); err != nil {
			return ledger.Edit{}, err
		}
		patched, err := mergePatch(now.Content, in.Body)
		if err != nil {
			return ledger.Edit{}, err
		}
		return editFromContent(s.keyOf(in.ObjectPathParams), patched)
	})
}

func (s *server) deleteObject(ctx context.Context, in *WriteParams) (*oneChange, error) {
	return s.writeObject(ctx, *in, func(ledger.Object) (ledger.Edit, error) {
		return ledger.Edit{Key: s.keyOf(in.ObjectPathParams), Delete: true}, nil
	})
}

// writeObject makes a change of one edit, if its preconditions hold for what the object is now. The edit expects the
// generation that they were decided by.
func (s *server) writeObject(ctx context.Context, in WriteParams,
	make func(now ledger.Object) (ledger.Edit, error)) (*oneChange, error) {
	key := s.keyOf(in.ObjectPathParams)
	if err := in.checkConditions(key); err != nil {
		return nil, err
	}
	// Permissions come before anything is read: who may not write it learns nothing about it.
	p := ledger.MayWrite
	if strings.HasPrefix(requestInfoOf(ctx).name, http.MethodDelete) {
		p = ledger.MayDelete
	}
	if err := s.mayEdit(ctx, p, key); err != nil {
		return nil, err
	}
	if computed := in.IfMatch == "*" || strings.HasPrefix(requestInfoOf(ctx).name, http.MethodPatch); computed {
		if out, ok, err := s.findRepeated(ctx, in.Request, changesOnly(key)); ok || err != nil {
			return out, err
		}
	}
	now, err := s.Ledger.Object(ctx, key, 0)
	if err != nil && ledger.CodeOf(err) != ledger.NotFound {
		return nil, err
	}
	d := ledger.Draft{Message: in.Message, Request: in.Request, DryRun: in.DryRun}
	if p == ledger.MayDelete {
		d.Verb = ledger.Delete
	}
	e, err := make(now)
	if err != nil {
		return nil, err
	}
	e.Key = key
	if e.Expect, err = in.expectedGeneration(key, now); err != nil && in.Request == "" {
		return nil, err
	}
	d.Edits = []ledger.Edit{e}
	if d.DryRun {
		if err := s.mayCompare(ctx, d); err != nil {
			return nil, err
		}
	}
	if d, err = s.admitDraft(ctx, d, s.mayDraft); err != nil {
		return nil, err
	}
	change, err := s.commitDraft(ctx, d, "")
	if err != nil {
		return nil, err
	}
	out, err := s.answerChange(ctx, change)
	if d.DryRun || err != nil {
		return out, err
	}
	generation := now.Generation
	for _, e := range change.Edited {
		generation = e.Generation
	}
	out.ETag = wire.ETag(generation)
	return out, nil
}
