package files

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// reportProblems reports each new problem once, or of very many some, and says when one is gone.
func (f *Folder) reportProblems(before, now map[ProblemKey]Problem) {
	fresh := slices.DeleteFunc(listProblems(now), func(p Problem) bool {
		_, told := before[p.Key()]
		return told
	})
	more := len(fresh) - maxLogLines
	if more > 0 { // errors first
		slices.SortStableFunc(fresh, func(a, b Problem) int { return cmp.Compare(a.Severity, b.Severity) })
		fresh = fresh[:maxLogLines]
	}
	for _, p := range fresh {
		f.onProblem(p)
	}
	if more > 0 {
		f.log.Warn("more problems in the folder: see cardea get findings", "more", more)
	}
	solved := 0
	for key := range before {
		if _, ok := now[key]; !ok {
			solved++
		}
	}
	if solved > 0 {
		f.log.Info("problems solved", "solved", solved, "left", len(now))
	}
}

// folderReport is what is told of a folder.
type folderReport struct {
	problems map[ProblemKey]Problem
	broken   map[model.ObjectRef]input.BrokenObject // those that nothing is published of
	closed   map[model.ObjectRef]input.ClosedTargets
}

// collectReport gathers every problem there is, which objects have no good version for theirs, and what is closed
// therefore.
func (f *Folder) collectReport() folderReport {
	now := folderReport{f.collectProblems(), map[model.ObjectRef]input.BrokenObject{},
		map[model.ObjectRef]input.ClosedTargets{}}
	for _, p := range listProblems(now.problems) {
		_, again := now.broken[p.Ref]
		_, live := f.objects.PublishedVersion(p.Ref)
		if again || live || p.Severity != model.Error || p.Ref.Kind() == model.KindNone {
			continue
		}
		b := input.BrokenObject{Where: Position{p.File, p.Line}.String(), Why: p.Message}
		if p.Field != "" {
			b.Why = p.Field + ": " + p.Message
		}
		now.broken[p.Ref] = b
	}
	f.addProtections(now)
	return now
}

func (f *Folder) collectProblems() map[ProblemKey]Problem {
	all := map[ProblemKey]Problem{}
	add := func(p Problem) { all[p.Key()] = p }
	if p, ok := f.folderProblem(); ok {
		add(p)
	}
	for path, err := range f.listing.broken {
		add(Problem{File: path, Message: "can't be read: " + describeError(err) + "; the objects last read from it stay " +
			"in use"})
	}
	for _, link := range f.listing.lostLinks {
		if f.listing.broken[link] == nil {
			add(Problem{File: link, Severity: model.Warning, Message: LostLink})
		}
	}
	for _, fl := range f.files {
		if fl.problem != "" {
			add(Problem{File: fl.relPath, Line: fl.line, Message: fl.problem, Stale: len(fl.docs) > 0})
		}
	}
	for d := range f.flawedDocs {
		stale := false
		for i := range d.items {
			it := &d.items[i]
			stale = stale || it.isStale()
			for _, p := range it.itemProblems() {
				p.File, p.Line, p.Stale = d.file.relPath, d.line+p.Line, it.servesLastGood()
				add(p)
			}
		}
		if d.failure != nil {
			p := d.failure.problemAt(d.line)
			p.File, p.Stale = d.file.relPath, stale
			add(p)
		}
	}
	f.addEmptyFiles(add)
	f.addOthers(add)
	f.addDuplicates(add)
	f.addWaitingGrants(add)
	f.addOrphans(all, add)
	return all
}

// folderProblem is what is wrong with the folder as a whole.
func (f *Folder) folderProblem() (Problem, bool) {
	switch {
	case f.readErr == nil && f.file == "" && len(f.files) == 0:
		return Problem{File: f.name, Message: "the folder has no .yaml, .yml or .json file", Severity: model.Warning}, true
	case f.readErr == nil:
		return Problem{}, false
	}
	p := Problem{File: f.name, Message: "the " + f.fileOrFolder() + " can't be read: " + describeError(f.readErr)}
	switch {
	case errors.Is(f.readErr, fs.ErrNotExist):
		p.Message = "the " + f.fileOrFolder() + " does not exist"
	case errors.Is(f.readErr, errUnfilled):
		p.Message = fmt.Sprintf("the folder was created again and has no .yaml, .yml or .json file yet; the objects last "+
			"read from it stay in use until it has one, for %v at most", RefillTimeout)
		return p, true
	}
	switch {
	case f.servesAny():
		p.Message += "; the objects last read from it stay in use"
	case errors.Is(f.readErr, fs.ErrNotExist):
		p.Message += "; create it, or start Cardea with the right path: nothing is served until it exists"
	}
	return p, true
}

// describeError says why, without the path that an error repeats.
func describeError(err error) string { return withoutPath(err).Error() }

func withoutPath(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// addDuplicates adds the problems of objects that are declared more than once.
func (f *Folder) addDuplicates(add func(Problem)) {
	for ref, claims := range f.contested {
		winner := claims[0].doc.file
		for _, c := range claims[1:] {
			if c.isKept() {
				continue
			}
			p := Problem{File: c.doc.file.relPath, Line: c.doc.line, Object: ref.String(), Ref: ref}
			if c.doc.file == winner {
				p.Message = fmt.Sprintf("is already declared on line %d, and that declaration is used", claims[0].doc.line)
				p.key = "is already declared in this file"
			} else {
				p.Message = fmt.Sprintf("is also declared in %s, which wins, because its path comes first",
					quoteName(winner.relPath))
			}
			add(p)
		}
	}
}
