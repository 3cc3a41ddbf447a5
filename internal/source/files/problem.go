package files

import (
	"cmp"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// Problem is something wrong with the folder, a file or a document.
type Problem struct {
	File     string          // relative to the folder; "" is the folder itself
	Line     int             // from 1; 0 if it concerns the whole file
	Object   string          // as messages name it, e.g. "HTTPRoute shop/web"; "" if unknown
	Ref      model.ObjectRef // zero if the object is of no kind that Cardea reads
	Field    string          // e.g. "spec.rules[0].matches[0].path.type"
	Message  string          // what was expected
	Severity model.Severity
	Stale    bool // the last good version keeps serving
	Closes   bool // it tells what is closed because of another problem; a Warning: what would be, if it were there

	key string // in place of a Message that names lines
}

// ProblemKey names a Problem. It does not change when other documents of the file move it to another line.
type ProblemKey struct {
	File, Object, Field, Message string
}

// Key names the problem.
func (p Problem) Key() ProblemKey {
	return ProblemKey{p.File, p.Object, p.Field, cmp.Or(p.key, p.Message)}
}

// String is one line: file, line, object, field, what was expected.
func (p Problem) String() string {
	var parts []string
	for _, part := range []string{Position{p.File, p.Line}.String(), p.Object, p.Field} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	s := strings.Join(append(parts, p.Message), ": ")
	if p.Stale {
		s += "; its last good version stays in use"
	}
	return s
}

func compareProblems(a, b Problem) int {
	return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, compareBools(a.Closes, b.Closes),
		strings.Compare(a.Object, b.Object), strings.Compare(a.Field, b.Field), strings.Compare(a.Message, b.Message))
}

// compareBools has false first: a mistake before what follows from it.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// listProblems lists problems by file and line.
func listProblems(problems map[ProblemKey]Problem) []Problem {
	list := make([]Problem, 0, len(problems))
	for _, p := range problems {
		list = append(list, p)
	}
	slices.SortFunc(list, compareProblems)
	return list
}
