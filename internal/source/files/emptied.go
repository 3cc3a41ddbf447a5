package files

import (
	"fmt"
	"time"

	"cardea.dev/cardea/internal/core/model"
)

// A file that had objects and is empty is most likely being written: a shell empties a file before it begins the
// command that writes to it, and that may need seconds. So what it held keeps serving for Refill at most, unless
// something is written there, or another file declares it. To take it away at once its user deletes the file.

// emptied is what is known of a file that had objects and that is empty.
type emptied struct {
	until time.Time // when it is believed to be empty
	held  map[model.ObjectRef]struct{}
}

// resume takes a file's former objects as gone only now if the file was emptied before: what is written there, or a
// mistake in it, decides about them anew.
func (m *merge) resume(fl *file, gone map[model.ObjectRef]*object) {
	if fl.emptied == nil {
		return
	}
	for ref := range fl.emptied.held {
		if m.awaited(ref) == fl.emptied {
			gone[ref], _ = m.life.Known(ref)
			m.touched[ref] = struct{}{}
		}
	}
}

// empty takes note of whether a file was emptied, and of what is gone by that.
func (m *merge) empty(fl *file, gone map[model.ObjectRef]*object) {
	switch {
	case len(fl.docs) > 0:
		fl.emptied = nil
	case fl.emptied == nil && len(gone) > 0:
		fl.emptied = &emptied{until: m.now.Add(Refill), held: map[model.ObjectRef]struct{}{}}
		for ref := range gone {
			fl.emptied.held[ref] = struct{}{}
		}
	}
}

// awaited is the emptied file that had an object which no file declares; nil if there is none.
func (f *Folder) awaited(ref model.ObjectRef) *emptied {
	live, known := f.life.Known(ref)
	if !known || f.winners[ref] != nil {
		return nil
	}
	fl := f.files[live.edit.Where]
	if fl == nil || fl.emptied == nil {
		return nil
	}
	if _, held := fl.emptied.held[ref]; !held {
		return nil
	}
	return fl.emptied
}

// await says whether an object has to be waited for, since its file was emptied.
func (m *merge) await(ref model.ObjectRef) bool {
	e := m.awaited(ref)
	if e == nil || !m.now.Before(e.until) {
		return false
	}
	m.life.Fade(ref, e.until)
	return true
}

// empties adds the problems of files without an object.
func (f *Folder) empties(add func(Problem)) {
	for _, fl := range f.files {
		if fl.problem != "" || len(fl.docs) > 0 {
			continue
		}
		p := Problem{File: fl.path, Message: "the file holds no object", Severity: model.Warning}
		if f.serving(fl.emptied) {
			p.Message += fmt.Sprintf("; what was last read from it keeps serving until it is written, for %v at most", Refill)
		}
		add(p)
	}
}

// serving says whether anything is served of what an emptied file held.
func (f *Folder) serving(e *emptied) bool {
	if e == nil {
		return false
	}
	for ref := range e.held {
		if f.awaited(ref) == e {
			return true
		}
	}
	return false
}
