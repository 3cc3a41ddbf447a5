package standalone

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/source/files"
	"cardea.dev/cardea/internal/source/machine"
)

// loadFolder reads a folder once into a new world, without proxies.
func loadFolder(o Options) (*world.World, *files.Folder, error) {
	w := newWorld(o, "", false)                            // the folder may be for a cluster
	folder, err := newFolder(o, w, func(files.Problem) {}) // the caller reports them
	if err != nil {
		return nil, nil, err
	}
	if err := folder.Load(); err != nil {
		return nil, nil, err
	}
	w.Graph.Settle()
	for looker := newLooker(w); looker.Step(); {
		w.Graph.Settle()
	}
	return w, folder, nil
}

// newLooker makes what looks at files of this machine.
func newLooker(w *world.World) *machine.Checker {
	return machine.New(machine.Config{Graph: w.Graph, Wanted: w.Plan.Files, Files: w.Sources.Files})
}

func newFolder(o Options, w *world.World, onProblem func(files.Problem)) (*files.Folder, error) {
	return files.New(files.Config{
		Dir: o.Dir, Sources: w.Sources.Sources, Graph: w.Graph, Log: o.logOrDiscard(), CacheDir: o.CacheDir,
		Schema: schema.New(w.Sources.Catalog).InNamespace(o.Namespace), OnProblem: onProblem,
	})
}

// Check prints every finding of a folder and of its objects, a line each, and returns how many of them are errors. With
// Options.CheckBeside, the objects are looked at where others are, too.
// Nothing is started.
func Check(ctx context.Context, o Options, out io.Writer) (errors int, err error) {
	o.machine = o.CheckBeside == nil
	w, folder, err := loadFolder(o)
	if err != nil {
		return 0, err
	}
	place := folder.NewLocator().PositionOf
	var found []model.Finding
	if o.CheckBeside != nil {
		if found, err = o.CheckBeside(ctx, declaredBy(w, place)); err != nil {
			return 0, err
		}
	} else {
		found = append(w.FindingsAt(time.Now()), findConflicts(w)...)
	}
	list := allFindings(folder.Problems(), found, place)
	for _, f := range list {
		if f.Severity == "error" {
			errors++
		}
		parts := make([]string, 0, 4)
		for _, part := range []string{f.Where, f.Object, f.Field, f.Message} {
			if part != "" {
				parts = append(parts, model.EscapeUnprintable(part))
			}
		}
		if _, err := fmt.Fprintf(out, "%s: %s\n", f.Severity, strings.Join(parts, ": ")); err != nil {
			return errors, err
		}
	}
	if len(list) == 0 {
		_, err = fmt.Fprintln(out, "no findings")
	}
	return errors, err
}

// checkReadable returns an error if something of a folder can't be read, or is left out because of a mistake: a policy
// that is left out protects nothing.
func checkReadable(o Options) error {
	_, folder, err := loadFolder(o)
	if err != nil {
		return err
	}
	var list []string
	for _, p := range unreadProblems(folder) {
		list = append(list, model.EscapeUnprintable(p.String()))
	}
	if len(list) == 0 {
		return nil
	}
	return fmt.Errorf("the folder has mistakes, and with --strict nothing starts:\n%s", strings.Join(list, "\n"))
}

// unreadProblems are the problems of a folder that hide what it states, or leave it out.
func unreadProblems(folder *files.Folder) []files.Problem {
	return slices.Concat(filterMistakes(folder.Problems()), lostLinks(folder))
}

// lostLinks are links to what does not exist that may be of folders. A Cardea that serves a folder only warns of them.
func lostLinks(folder *files.Folder) (list []files.Problem) {
	for _, link := range folder.LostLinks() {
		list = append(list, files.Problem{File: link, Message: files.LostLink})
	}
	return list
}

// filterMistakes are those problems that leave something out, or keep it as it was before it was written last.
func filterMistakes(problems []files.Problem) []files.Problem {
	return slices.DeleteFunc(problems, func(p files.Problem) bool { return p.Severity != model.Error || p.Closes })
}

// declaredBy are the objects that a folder declares, but for those that are there without a file.
func declaredBy(w *world.World, place locateFunc) (list []input.ObjectContent) {
	w.Graph.View(func(v flow.View) {
		for _, k := range w.Sources.Catalog.All() {
			source := w.Sources.KindSource(k.Kind)
			for _, ref := range source.ListRefs(v) {
				if o, _ := source.Get(v, ref); place(ref, "").File != "" {
					list = append(list, input.ObjectContent{Ref: ref, Labels: o.Meta.Labels, Spec: o.Spec})
				}
			}
		}
	})
	return list
}
