package standalone

import (
	"context"
	"fmt"

	"cardea.dev/cardea/internal/admin"
	"cardea.dev/cardea/internal/diff"
	"cardea.dev/cardea/internal/explain"
	"cardea.dev/cardea/internal/files"
	"cardea.dev/cardea/internal/model"
)

// Explainer answers questions about the objects of a folder. Nothing is started.
func Explainer(_ context.Context, o Options) (admin.Explainer, error) {
	w, folder, err := load(o)
	if err != nil {
		return nil, err
	}
	c := explained(folder)
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

// explained is what a folder adds to explanations: where an object stands, and what is wrong with the files.
func explained(folder *files.Folder) explain.Config {
	notes := func() []string {
		broken := len(mistakes(folder))
		if broken == 0 {
			return nil
		}
		return []string{fmt.Sprintf("mistakes in files are left out of this answer (%d); `cardea check` shows them", broken)}
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
	return explain.Config{Notes: notes, Problems: problems, Locate: locate}
}
