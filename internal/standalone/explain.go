package standalone

import (
	"context"
	"fmt"

	"cardea.dev/cardea/internal/admin"
	"cardea.dev/cardea/internal/explain"
	"cardea.dev/cardea/internal/files"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/world"
	"cardea.dev/cardea/internal/xds"
)

// Explainer answers questions about the objects of a folder. Nothing is started.
func Explainer(_ context.Context, o Options) (admin.Explainer, error) {
	w, folder, err := load(o)
	if err != nil {
		return nil, err
	}
	return newExplainer(w, folder, nil), nil
}

// newExplainer makes an explainer of a folder. If server is nil, no proxy runs.
func newExplainer(w *world.World, folder *files.Folder, server *xds.Server) *explain.Explainer {
	notes := func() []string {
		broken := 0
		for _, p := range folder.Problems() {
			if p.Severity == model.Error {
				broken++
			}
		}
		if broken == 0 {
			return nil
		}
		return []string{fmt.Sprintf("%d mistakes in files are left out of this answer; `cardea check` shows them",
			broken)}
	}
	problems := func(ref model.ObjectRef) (list []model.Finding) {
		for _, p := range folder.Problems() {
			if p.Object == ref.String() {
				list = append(list, model.Finding{Object: ref, Severity: p.Severity, Field: p.Field, Message: said(p)})
			}
		}
		return list
	}
	locate := func() func(model.ObjectRef, string) string {
		locator := folder.Locator()
		return func(ref model.ObjectRef, field string) string { return locator.Where(ref, field).String() }
	}
	config := explain.Config{World: w, Offline: server == nil, Notes: notes, Problems: problems, Locate: locate}
	if server != nil {
		config.Sent, config.Offered, config.Each = server.Sent, server.Offered, server.Each
	}
	return explain.New(config)
}
