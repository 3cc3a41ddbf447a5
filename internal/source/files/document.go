package files

import (
	"io/fs"
	"slices"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
)

// file is what was last read of one file.
type file struct {
	relPath string
	info    fs.FileInfo // of the last read
	docs    []*document
	problem string // why it could not be read as a whole; its documents are then those of the last good read
	line    int    // where, if that is known
	// neverRead: it could not be read when the folder was read first, nor since: nobody knows what it protects.
	neverRead bool
	// keptDoc has the objects that the file does not declare any more, if a mistake in it may be about any of them; nil if
	// there are none.
	keptDoc *document
	emptied *emptiedFile // nil unless the file is empty and had objects
}

// document is one document of a file. It stays the same value while its text does, wherever that moves in the file.
// There may be very many: what few of them have stands apart.
type document struct {
	hash       fingerprint
	file       *file
	line       int           // its first line in the file
	items      []item        // its object, or those of a List
	failure    *parseFailure // why it could not be parsed: its items, if any, are then what stood in its place
	inlineItem [1]item       // where items usually are
}

// lineAfter is the line that is n after the document's first; 0 if n is 0.
func (d *document) lineAfter(n int) int {
	if n == 0 {
		return 0
	}
	return d.line + n
}

// parseFailure is why a document could not be parsed.
type parseFailure struct {
	Problem
	syntax        *syntaxError // nil if no line of the text is known
	closedTargets []closing    // by as much of the text as can be read
}

// closing is what an object closes that can't be read.
type closing struct {
	schema.ClosedTargets
	line int // where the object stands, after the document's first line; 0 if the document is the object
}

// problemAt is the problem of a document that begins in that line of its file.
func (t *parseFailure) problemAt(line int) Problem {
	p := t.Problem
	p.Line += line
	if t.syntax != nil {
		p.Message = t.syntax.messageAt(line)
	}
	return p
}

// item is one object in a document.
type item struct {
	doc    *document
	object *goodVersion // nil if there is no good version
	note   *note        // nil for an object that is all of a document, and good
}

// note is what is to be said of some items.
type note struct {
	position string // where it stands in the document: "" or "items[3]"
	ref      model.ObjectRef
	label    string // how messages call it
	stale    bool   // its object is of an earlier version of the text
	problems []Problem
	// closedTargets is what is closed while the object, which has a mistake, has no good version.
	closedTargets []closing
}

func (it *item) objectRef() model.ObjectRef {
	if it.note != nil {
		return it.note.ref
	}
	return it.object.Ref
}

func (it *item) displayName() string {
	if it.note != nil {
		return it.note.label
	}
	return it.object.Ref.String()
}

// itemPosition is where the item stands in its document: "" or "items[3]".
func (it *item) itemPosition() string {
	if it.note != nil {
		return it.note.position
	}
	return ""
}

func (it *item) isStale() bool { return it.note != nil && it.note.stale }

// servesLastGood tells whether the last good version of an object that is in its file serves on.
func (it *item) servesLastGood() bool {
	return it.isStale() && !it.isKept() &&
		!slices.ContainsFunc(it.note.closedTargets, func(c closing) bool {
			return c.ClosesDespiteLastGood && !c.TargetsUnknown
		})
}

func (it *item) itemProblems() []Problem {
	if it.note != nil {
		return it.note.problems
	}
	return nil
}
