package files

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
)

// An object that protects and can't be read closes what it is for: to serve that without would be an open door. An
// object with a last good version that serves protects by that (kind.Protection.Always: it closes nevertheless).
// Targets in another document are left out if a live object of its name protects them.

// protections adds what is closed, and why.
func (f *Folder) protections(to said) {
	for d := range f.flawed {
		at := Place{d.file.path, d.line}
		if d.trouble != nil && !slices.ContainsFunc(d.items, func(it item) bool { return it.object != nil }) {
			p := d.trouble.at(d.line)
			f.close(to, d, d.trouble.closes, Problem{File: d.file.path, Line: p.Line, Message: p.Message})
		}
		for i := range d.items {
			it := &d.items[i]
			if it.note == nil || len(it.note.closes) == 0 || len(it.flaws()) == 0 {
				continue
			}
			p := it.flaws()[0]
			p.File, p.Line = at.File, at.Line+p.Line
			f.close(to, d, slices.DeleteFunc(slices.Clone(it.note.closes), func(c schema.Closed) bool {
				return it.object != nil && !c.Always
			}), p)
		}
	}
	for _, claims := range f.contested {
		for _, c := range claims[1:] {
			if c.object != nil && !c.kept() && !c.stale() {
				f.close(to, c.doc, f.hides(c), Problem{
					File: c.doc.file.path, Line: c.doc.line, Message: "another document of this name serves",
				})
			}
		}
	}
	f.unreadFiles(to)
}

// hides is what an object is for that does not count, since another one of its name does.
func (f *Folder) hides(it *item) []schema.Closed {
	k := f.catalog.Of(it.object.Ref.Kind())
	if k.Protects == nil {
		return nil
	}
	targets, _ := k.Protects.Closes(specOf(it.object))
	return []schema.Closed{{Of: it.object.Ref, Kind: k.Kind, Targets: targets, Words: k.Protects.Closed}}
}

// specOf is the spec of a good version, as it is written down.
func specOf(o *object) (spec map[string]any) {
	text, err := json.Marshal(o.Spec)
	if err != nil || json.Unmarshal(text, &spec) != nil {
		panic(fmt.Sprintf("files: the spec of %s can't be written: %v", o.Ref, err)) // it was read from JSON
	}
	return spec
}

// close adds what a document closes. p is the problem for which it can't be read.
func (f *Folder) close(to said, d *document, list []schema.Closed, p Problem) {
	for _, c := range list {
		if c.Targets = f.left(d, c); len(c.Targets) == 0 {
			continue
		}
		why := strings.TrimPrefix(p.Field+": "+p.Message, ": ")
		closed := input.Closed{
			Of: c.Of, Kind: c.Kind, Targets: c.Targets, Where: Place{p.File, p.Line}.String(), Why: why,
		}
		closed.Targets = slices.Concat(to.closed[closed.Key()].Targets, closed.Targets) // a text may have an object twice
		to.closed[closed.Key()] = closed
		said := Problem{
			File: p.File, Line: p.Line, Ref: c.Of, Object: labelOf(c.Of), Message: c.Says(), Closes: true,
		}
		to.problems[said.Key()] = said
	}
}

// left are the targets that nothing protects: not a live object of the same name, nor what the file declared before and
// that is kept.
func (f *Folder) left(d *document, c schema.Closed) []kind.Target {
	live, known := f.life.Known(c.Of)
	vague := c.Guessed || c.Of.Kind() == model.KindNone || c.Of.Name() == ""
	switch {
	case c.Always && !c.Guessed:
		return c.Targets
	case known && c.Guessed, !known && vague && d.file.kept != nil:
		return nil
	case !known:
		return c.Targets
	}
	protected, _ := f.catalog.Of(c.Of.Kind()).Protects.Closes(specOf(live))
	return slices.DeleteFunc(slices.Clone(c.Targets), func(t kind.Target) bool {
		return slices.ContainsFunc(protected, t.Equal)
	})
}

// unreadFiles closes all that is served while a file, or a folder, can't be read that nobody has read so far.
func (f *Folder) unreadFiles(to said) {
	unread := map[string]string{}
	for path, fl := range f.files {
		if fl.hidden && fl.problem != "" {
			unread[path] = fl.problem
		}
	}
	for path := range f.unlisted {
		if err := f.listing.broken[path]; err != nil {
			unread[path] = "it can't be read: " + reason(err)
		}
	}
	for path, why := range unread {
		for _, c := range f.schema.Unread(path) {
			closed := input.Closed{Of: c.Of, Kind: c.Kind, Targets: c.Targets, Where: shown(path), Why: why}
			to.closed[closed.Key()] = closed
			said := Problem{File: path, Message: c.Says(), Closes: true}
			to.problems[said.Key()] = said
		}
	}
}

// labelOf is how messages call an object that may have no name, or no kind.
func labelOf(ref model.ObjectRef) string {
	switch {
	case ref.Kind() == model.KindNone:
		return ""
	case ref.Name() == "" || ref.Namespace() == "":
		return strings.TrimSpace(ref.Kind().String() + " " + ref.Name())
	}
	return ref.String()
}
