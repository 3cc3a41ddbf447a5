package standalone

import (
	"context"
	"fmt"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/ops/admin"
	"cardea.dev/cardea/internal/ops/diff"
	"cardea.dev/cardea/internal/ops/explain"
	"cardea.dev/cardea/internal/source/files"
)

// NewExplainer answers questions about the objects of a folder. Nothing is started.
func NewExplainer(_ context.Context, o Options) (admin.Explainer, error) {
	w, folder, err := loadFolder(o)
	if err != nil {
		return nil, err
	}
	if err := requireObjects(o, w, folder); err != nil {
		return nil, err
	}
	c := explainConfig(folderSource{folder})
	c.World, c.Offline = w, true
	return explain.New(c), nil
}

// requireObjects is an error if a folder has no object, valid or not: an answer about nothing would mislead.
func requireObjects(o Options, w *world.World, folder *files.Folder) error {
	locate := folder.NewLocator().PositionOf
	if len(declaredBy(w, locate)) == 0 && len(filterMistakes(folder.Problems())) == 0 {
		return fmt.Errorf("%s has no objects in files that end in .yaml, .yml or .json", o.Dir)
	}
	return nil
}

// NewDiffer answers what edits would change of what a folder says. No proxy is started.
func NewDiffer(_ context.Context, o Options) (*diff.Differ, error) {
	w, _, err := loadFolder(o)
	if err != nil {
		return nil, err
	}
	return diff.New(diff.Config{World: w, ExtraFindings: newConflicts(w), Waits: true}), nil
}

// explainConfig is what the source of objects adds to explanations: where an object stands, and what is wrong.
func explainConfig(objects objectSource) explain.Config {
	notes := func() []string {
		broken := len(filterMistakes(objects.Problems()))
		if broken == 0 {
			return nil
		}
		return []string{objects.leftOut(broken)}
	}
	problems := func(ref model.ObjectRef) (list []model.Finding) {
		for _, p := range objects.Problems() {
			if p.Object == ref.String() {
				list = append(list, model.Finding{Object: ref, Severity: p.Severity, Field: p.Field, Message: problemMessage(p)})
			}
		}
		return list
	}
	locate := func() func(model.ObjectRef, string) string {
		place := objects.newLocator()
		return func(ref model.ObjectRef, field string) string { return place(ref, field).String() }
	}
	return explain.Config{Notes: notes, Problems: problems, Locate: locate}
}
