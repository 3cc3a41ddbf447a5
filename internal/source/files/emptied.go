package files

import (
	"fmt"
	"time"

	"cardea.dev/cardea/internal/core/model"
)

// A file that had objects and is empty is most likely being written: a shell empties a file before it begins the
// command that writes to it, and that may need seconds. So what it held keeps serving for RefillTimeout at most, unless
// something is written there, or another file declares it. To take it away at once its user deletes the file.

// emptiedFile is what is known of a file that had objects and that is empty.
type emptiedFile struct {
	until    time.Time // when it is believed to be empty
	heldRefs map[model.ObjectRef]struct{}
}

// resumeEmptied takes a file's former objects as gone only now if the file was emptied before: what is written there,
// or a mistake in it, decides about them anew.
func (m *merge) resumeEmptied(fl *file, gone map[model.ObjectRef]*goodVersion) {
	if fl.emptied == nil {
		return
	}
	for ref := range fl.emptied.heldRefs {
		if m.findEmptied(ref) == fl.emptied {
			gone[ref], _ = m.objects.PublishedVersion(ref)
			m.touched[ref] = struct{}{}
		}
	}
}

// noteEmptied takes note of whether a file was emptied, and of what is gone by that.
func (m *merge) noteEmptied(fl *file, gone map[model.ObjectRef]*goodVersion) {
	switch {
	case len(fl.docs) > 0:
		fl.emptied = nil
	case fl.emptied == nil && len(gone) > 0:
		fl.emptied = &emptiedFile{until: m.now.Add(RefillTimeout), heldRefs: map[model.ObjectRef]struct{}{}}
		for ref := range gone {
			fl.emptied.heldRefs[ref] = struct{}{}
		}
	}
}

// findEmptied is the emptied file that had an object which no file declares; nil if there is none.
func (f *Folder) findEmptied(ref model.ObjectRef) *emptiedFile {
	live, known := f.objects.PublishedVersion(ref)
	if !known || f.winners[ref] != nil {
		return nil
	}
	fl := f.files[live.edit.Where]
	if fl == nil || fl.emptied == nil {
		return nil
	}
	if _, held := fl.emptied.heldRefs[ref]; !held {
		return nil
	}
	return fl.emptied
}

// awaitEmptied says whether an object has to be waited for, since its file was emptied.
func (m *merge) awaitEmptied(ref model.ObjectRef) bool {
	e := m.findEmptied(ref)
	if e == nil || !m.now.Before(e.until) {
		return false
	}
	m.objects.Fade(ref, e.until)
	return true
}

// addEmptyFiles adds the problems of files without an object.
func (f *Folder) addEmptyFiles(add func(Problem)) {
	for _, fl := range f.files {
		if fl.problem != "" || len(fl.docs) > 0 {
			continue
		}
		p := Problem{File: fl.relPath, Message: "the file holds no object", Severity: model.Warning}
		if f.servesEmptied(fl.emptied) {
			p.Message += fmt.Sprintf("; the objects last read from it stay in use until it is written, for %v at most",
				RefillTimeout)
		}
		add(p)
	}
}

// servesEmptied says whether anything is served of what an emptied file held.
func (f *Folder) servesEmptied(e *emptiedFile) bool {
	if e == nil {
		return false
	}
	for ref := range e.heldRefs {
		if f.findEmptied(ref) == e {
			return true
		}
	}
	return false
}
