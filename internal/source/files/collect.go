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

// tell reports each new problem once, or of very many some, and says when one is gone.
func (f *Folder) tell(before, now map[ProblemKey]Problem) {
	fresh := slices.DeleteFunc(sorted(now), func(p Problem) bool {
		_, told := before[p.Key()]
		return told
	})
	more := len(fresh) - manyTold
	if more > 0 { // errors first
		slices.SortStableFunc(fresh, func(a, b Problem) int { return cmp.Compare(a.Severity, b.Severity) })
		fresh = fresh[:manyTold]
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

// said is what is told of a folder.
type said struct {
	problems map[ProblemKey]Problem
	broken   map[model.ObjectRef]input.Broken // those that nothing is published of
	closed   map[model.ObjectRef]input.Closed
}

// collect gathers every problem there is, which objects have no good version for theirs, and what is closed therefore.
func (f *Folder) collect() said {
	now := said{f.collectProblems(), map[model.ObjectRef]input.Broken{}, map[model.ObjectRef]input.Closed{}}
	for _, p := range sorted(now.problems) {
		_, again := now.broken[p.Ref]
		_, live := f.life.Known(p.Ref)
		if again || live || p.Severity != model.Error || p.Ref.Kind() == model.KindNone {
			continue
		}
		b := input.Broken{Where: Place{p.File, p.Line}.String(), Why: p.Message}
		if p.Field != "" {
			b.Why = p.Field + ": " + p.Message
		}
		now.broken[p.Ref] = b
	}
	f.protections(now)
	return now
}

func (f *Folder) collectProblems() map[ProblemKey]Problem {
	all := map[ProblemKey]Problem{}
	add := func(p Problem) { all[p.Key()] = p }
	if p, ok := f.folderProblem(); ok {
		add(p)
	}
	for path, err := range f.listing.broken {
		add(Problem{File: path, Message: "can't be read: " + reason(err) + "; what was last read from it keeps serving"})
	}
	for _, link := range f.listing.lost {
		if f.listing.broken[link] == nil {
			add(Problem{File: link, Severity: model.Warning, Message: LostLink})
		}
	}
	for _, fl := range f.files {
		if fl.problem != "" {
			add(Problem{File: fl.path, Line: fl.line, Message: fl.problem, Stale: len(fl.docs) > 0})
		}
	}
	for d := range f.flawed {
		stale := false
		for i := range d.items {
			it := &d.items[i]
			stale = stale || it.stale()
			for _, p := range it.flaws() {
				p.File, p.Line, p.Stale = d.file.path, d.line+p.Line, it.serves()
				add(p)
			}
		}
		if d.trouble != nil {
			p := d.trouble.at(d.line)
			p.File, p.Stale = d.file.path, stale
			add(p)
		}
	}
	f.empties(add)
	f.doubles(add)
	f.waiting(add)
	f.orphans(all, add)
	return all
}

// folderProblem is what is wrong with the folder as a whole.
func (f *Folder) folderProblem() (Problem, bool) {
	switch {
	case f.unread == nil && f.file == "" && len(f.files) == 0:
		return Problem{File: f.name, Message: "the folder holds no .yaml, .yml or .json file", Severity: model.Warning}, true
	case f.unread == nil:
		return Problem{}, false
	}
	p := Problem{File: f.name, Message: "the " + f.what() + " can't be read: " + reason(f.unread)}
	switch {
	case errors.Is(f.unread, fs.ErrNotExist):
		p.Message = "the " + f.what() + " does not exist"
	case errors.Is(f.unread, errUnfilled):
		p.Message = fmt.Sprintf("the folder was made anew and holds no .yaml, .yml or .json file yet; what was last read "+
			"from it "+
			"keeps serving until one is there, for %v at most", Refill)
		return p, true
	}
	switch {
	case f.serves():
		p.Message += "; what was last read from it keeps serving"
	case errors.Is(f.unread, fs.ErrNotExist):
		p.Message += "; make it, or start with the right name: nothing is served until it is there"
	}
	return p, true
}

// reason says why, without the path that an error repeats.
func reason(err error) string { return cause(err).Error() }

func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// doubles adds the problems of objects that are declared more than once.
func (f *Folder) doubles(add func(Problem)) {
	for ref, claims := range f.contested {
		winner := claims[0].doc.file
		for _, c := range claims[1:] {
			if c.kept() {
				continue
			}
			p := Problem{File: c.doc.file.path, Line: c.doc.line, Object: ref.String(), Ref: ref}
			if c.doc.file == winner {
				p.Message = fmt.Sprintf("is already declared on line %d, which serves", claims[0].doc.line)
				p.key = "is already declared in this file"
			} else {
				p.Message = fmt.Sprintf("is declared in %s, too: that one serves, since it is first by path", shown(winner.path))
			}
			add(p)
		}
	}
}
