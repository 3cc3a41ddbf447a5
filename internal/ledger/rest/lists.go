package rest

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

func registerLists(s *server, api huma.API) {
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/targets/{target}/objects", Summary: "List objects",
		Description: "Pages of one list show one change, also while objects are edited. " +
			"What the caller may not read is left out, so that a page may be short."}, s.listObjects)
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/objects/query", Summary: "Query objects",
		Description: "As a list, of all targets or by keys. More than 1,000 at once are for who may read all of them."},
		s.queryObjects)
}

type objectPage struct{ Body wire.ObjectPage }

func (s *server) listObjects(ctx context.Context, in *struct {
	Target    string `path:"target"`
	Kind      string `query:"kind" example:"HTTPRoute.gateway.networking.k8s.io" doc:"Without a dot: of any group"`
	Namespace string `query:"namespace"`
	At        int64  `query:"at" minimum:"0" doc:"As they were after this change"`
	Limit     int    `query:"limit" minimum:"0" maximum:"1000"`
	Cursor    string `query:"cursor" doc:"The next of the page before"`
	Contents  bool   `query:"contents" doc:"With contents"`
	Deleted   bool   `query:"deleted" doc:"Those that are deleted, too"`
}) (*objectPage, error) {
	kind, group, _ := strings.Cut(in.Kind, ".")
	q := ledger.ObjectsQuery{Target: in.Target, Group: group, Kind: kind, Namespace: in.Namespace, At: in.At,
		Limit: in.Limit, Contents: in.Contents, Deleted: in.Deleted}
	filter := strings.Join([]string{in.Target, in.Kind, in.Namespace}, "\n")
	if in.Cursor != "" {
		c, err := parseCursor(in.Cursor, filter)
		if err != nil {
			return nil, err
		}
		if in.At != 0 && in.At != c.At {
			return nil, badCursor("belongs to another change than at")
		}
		q.At, q.After = c.At, &c.After
	}
	list, err := s.Ledger.Objects(ctx, q)
	if err != nil {
		return nil, err
	}
	page := wire.ObjectPage{Objects: list}
	if n := len(list.Objects); list.More && n > 0 {
		page.Next = cursor{At: list.At, After: list.Objects[n-1].Key, Filter: filter}.String()
	}
	page.Objects.Objects, err = s.readObjects(ctx, list.Objects)
	return &objectPage{page}, err
}

// readObjects are those that the caller may read, as the caller may see them.
func (s *server) readObjects(ctx context.Context, list []ledger.Object) ([]ledger.Object, error) {
	seen, err := filterReadable(ctx, s, list, func(o ledger.Object) ledger.Key { return o.Key })
	for i, o := range seen {
		seen[i] = s.redactSecret(o)
	}
	return seen, err
}

// maxUnchecked is about how many objects one question may be, unless the caller may read all of them: of each other
// object it is to be found out whether it may be shown, and most may turn out to be hidden.
const maxUnchecked = 1000

// refuseLarge refuses a question about more objects than the caller may ask for at once.
func (s *server) refuseLarge(ctx context.Context, target string, objects int) error {
	if objects <= maxUnchecked {
		return nil
	}
	all, err := s.isAllowed(ctx, ledger.MayRead, ledger.Key{Target: target})
	if err != nil || all {
		return err
	}
	return &ledger.Error{Code: ledger.TooLarge, Field: "limit",
		Message: "only a caller who may read all objects can ask for more than 1,000 at once", Fix: "ask several times"}
}

type objectList struct{ Body wire.ObjectList }

func (s *server) queryObjects(ctx context.Context, in *struct {
	Body wire.ObjectsQuery
}) (*objectList, error) {
	b := in.Body
	if len(b.Keys) > ledger.MaxEdits {
		return nil, &ledger.Error{Code: ledger.TooLarge, Field: "keys", Message: "are more than 20,000",
			Fix: "ask several times"}
	}
	if err := s.refuseLarge(ctx, b.Target, max(b.Limit, len(b.Keys))); err != nil {
		return nil, err
	}
	list, err := s.Ledger.Objects(ctx, ledger.ObjectsQuery{Target: b.Target, Group: b.Group, Kind: b.Kind,
		Namespace: b.Namespace, ID: b.ID, Keys: b.Keys, At: b.At, Limit: b.Limit, After: b.After, Contents: b.Contents,
		Deleted: b.Deleted})
	if err != nil {
		return nil, err
	}
	out := wire.ObjectList{Objects: list}
	if n := len(list.Objects); list.More && n > 0 {
		out.After = &list.Objects[n-1].Key // also if the caller may not see that one
	}
	out.Objects.Objects, err = s.readObjects(ctx, list.Objects)
	return &objectList{out}, err
}

type history struct{ Body wire.History }

func (s *server) getHistory(ctx context.Context, in *struct {
	ObjectPathParams
	Limit int   `query:"limit" minimum:"0" maximum:"1000"`
	After int64 `query:"after" minimum:"0" doc:"The last generation of the page before: older ones are listed"`
}) (*history, error) {
	key := s.keyOf(in.ObjectPathParams)
	if err := s.checkPermission(ctx, ledger.MayRead, key); err != nil {
		return nil, err
	}
	list, err := s.Ledger.History(ctx, key, ledger.Page{Limit: in.Limit, After: in.After})
	if err != nil {
		return nil, err
	}
	h := wire.History{Generations: list}
	for i, o := range list {
		list[i] = s.redactSecret(o)
	}
	if in.After == 0 {
		found, err := s.Ledger.Status(ctx, ledger.StatusQuery{Keys: []ledger.Key{key}})
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			withoutResults(&found[0])
			h.Status = &found[0]
		}
	}
	return &history{h}, nil
}
