package standalone

import (
	"context"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/ops/admin"
	"cardea.dev/cardea/internal/ops/diff"
	"cardea.dev/cardea/internal/ops/explain"
)

// Explainer answers questions about the objects of a folder. Nothing is started.
func Explainer(_ context.Context, o Options) (admin.Explainer, error) {
	w, folder, err := load(o)
	if err != nil {
		return nil, err
	}
	c := explained(folderSource{folder})
	c.World, c.Offline = w, true
	return explain.New(c), nil
}

// Differ answers what edits would change of what a folder says. No proxy is started.
func Differ(_ context.Context, o Options) (*diff.Differ, error) {
	w, _, err := load(o)
	if err != nil {
		return nil, err
	}
	return diff.New(diff.Config{World: w, Foretold: newClashes(w), Waits: true}), nil
}

// explained is what the source of objects adds to explanations: where an object stands, and what is wrong.
func explained(objects source) explain.Config {
	notes := func() []string {
		broken := len(mistakes(objects.Problems()))
		if broken == 0 {
			return nil
		}
		return []string{objects.leftOut(broken)}
	}
	problems := func(ref model.ObjectRef) (list []model.Finding) {
		for _, p := range objects.Problems() {
			if p.Object == ref.String() {
				list = append(list, model.Finding{Object: ref, Severity: p.Severity, Field: p.Field, Message: said(p)})
			}
		}
		return list
	}
	locate := func() func(model.ObjectRef, string) string {
		place := objects.locate()
		return func(ref model.ObjectRef, field string) string { return place(ref, field).String() }
	}
	return explain.Config{Notes: notes, Problems: problems, Locate: locate}
}
