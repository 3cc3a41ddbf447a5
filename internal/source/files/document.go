package files

import (
	"io/fs"
	"slices"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
)

// file is what was last read of one file.
type file struct {
	path    string
	info    fs.FileInfo // of the last read
	docs    []*document
	problem string // why it could not be read as a whole; its documents are then those of the last good read
	line    int    // where, if that is known
	// hidden: it could not be read when the folder was read first, nor since: nobody knows what it protects.
	hidden bool
	// kept has the objects that the file does not declare any more, if a mistake in it may be about any of them; nil if
	// there are none.
	kept    *document
	emptied *emptied // nil unless the file is empty and had objects
}

// document is one document of a file. It stays the same value while its text does, wherever that moves in the file.
// There may be very many: what few of them have stands apart.
type document struct {
	hash    fingerprint
	file    *file
	line    int      // its first line in the file
	items   []item   // its object, or those of a List
	trouble *trouble // why it could not be parsed: its items, if any, are then what stood in its place
	only    [1]item  // where items usually are
}

// trouble is why a document could not be parsed.
type trouble struct {
	Problem
	syntax *syntaxError    // nil if no line of the text is known
	closes []schema.Closed // by as much of the text as can be read
}

// at is the problem of a document that begins in that line of its file.
func (t *trouble) at(line int) Problem {
	p := t.Problem
	p.Line += line
	if t.syntax != nil {
		p.Message = t.syntax.tell(line)
	}
	return p
}

// item is one object in a document.
type item struct {
	doc    *document
	object *object // nil if there is no good version
	note   *note   // nil for an object that is all of a document, and good
}

// note is what is to be said of some items.
type note struct {
	path  string // where it stands in the document: "" or "items[3]"
	ref   model.ObjectRef
	label string // how messages call it
	stale bool   // its object is of an earlier version of the text
	flaws []Problem
	// closes is what is closed while the object, which has a mistake, has no good version.
	closes []schema.Closed
}

func (it *item) ref() model.ObjectRef {
	if it.note != nil {
		return it.note.ref
	}
	return it.object.Ref
}

func (it *item) label() string {
	if it.note != nil {
		return it.note.label
	}
	return it.object.Ref.String()
}

// path is where the item stands in its document: "" or "items[3]".
func (it *item) path() string {
	if it.note != nil {
		return it.note.path
	}
	return ""
}

func (it *item) stale() bool { return it.note != nil && it.note.stale }

// serves tells whether the last good version of an object that is in its file serves on.
func (it *item) serves() bool {
	return it.stale() && !it.kept() &&
		!slices.ContainsFunc(it.note.closes, func(c schema.Closed) bool { return c.Always && !c.Guessed })
}

func (it *item) flaws() []Problem {
	if it.note != nil {
		return it.note.flaws
	}
	return nil
}
