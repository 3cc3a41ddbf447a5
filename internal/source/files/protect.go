package files

import (
	"cmp"
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
// object with a last good version that serves protects by that (kind.Protection.ClosesDespiteLastGood: it closes
// nevertheless). Targets in another document are left out if a live object of its name protects them.

// addProtections adds what is closed, and why.
func (f *Folder) addProtections(to folderReport) {
	for d := range f.flawedDocs {
		at := Position{d.file.relPath, d.line}
		if d.failure != nil && !slices.ContainsFunc(d.items, func(it item) bool { return it.object != nil }) {
			p := d.failure.problemAt(d.line)
			f.addClosed(to, d, d.failure.closedTargets, Problem{File: d.file.relPath, Line: p.Line, Message: p.Message})
		}
		for i := range d.items {
			it := &d.items[i]
			if it.note == nil || len(it.note.closedTargets) == 0 || len(it.itemProblems()) == 0 {
				continue
			}
			p := it.itemProblems()[0]
			p.File, p.Line = at.File, at.Line+p.Line
			f.addClosed(to, d, slices.DeleteFunc(slices.Clone(it.note.closedTargets), func(c closing) bool {
				return it.object != nil && !c.ClosesDespiteLastGood
			}), p)
		}
	}
	for _, claims := range f.contested {
		for _, c := range claims[1:] {
			if c.object != nil && !c.isKept() && !c.isStale() {
				f.addClosed(to, c.doc, f.hiddenProtections(c), Problem{
					File: c.doc.file.relPath, Line: c.doc.line, Message: input.OtherInUse,
				})
			}
		}
	}
	f.addUnread(to)
}

// hiddenProtections is what an object is for that does not count, since another one of its name does.
func (f *Folder) hiddenProtections(it *item) []closing {
	k := f.catalog.FindKind(it.object.Ref.Kind())
	if k.Protects == nil {
		return nil
	}
	targets, _ := k.Protects.ClosedTargets(specOf(it.object))
	return []closing{{ClosedTargets: schema.ClosedTargets{
		Object: it.object.Ref, Kind: k.Kind, Targets: targets, Effect: k.Protects.Closed,
	}}}
}

// specOf is the spec of a good version, as it is written down.
func specOf(o *goodVersion) (spec map[string]any) {
	text, err := json.Marshal(o.Spec)
	if err != nil || json.Unmarshal(text, &spec) != nil {
		panic(fmt.Sprintf("files: the spec of %s can't be written: %v", o.Ref, err)) // it was read from JSON
	}
	return spec
}

// addClosed adds what a document closes. p is the problem for which it can't be read.
func (f *Folder) addClosed(to folderReport, d *document, list []closing, p Problem) {
	for _, c := range list {
		if c.Targets = f.unprotectedTargets(d, c.ClosedTargets); len(c.Targets) == 0 {
			continue
		}
		why := strings.TrimPrefix(p.Field+": "+p.Message, ": ")
		closed := input.ClosedTargets{
			Object: c.Object, Kind: c.Kind, Targets: c.Targets, Where: Position{p.File, p.Line}.String(), Why: why,
		}
		for _, t := range to.closed[closed.Key()].Targets { // a text may have an object twice
			if !slices.ContainsFunc(closed.Targets, t.Equal) {
				closed.Targets = append(slices.Clip(closed.Targets), t)
			}
		}
		to.closed[closed.Key()] = closed
		exists := func(t kind.Target) bool { return f.isDeclared(to, c.Object.Namespace(), t) }
		said := Problem{
			File: p.File, Line: cmp.Or(d.lineAfter(c.line), p.Line), Ref: c.Object,
			Object: labelOf(c.Object), Message: c.Describe(exists), Closes: true,
		}
		if c.ClosesNothing(exists) {
			said.Severity = model.Warning
		}
		to.problems[said.Key()] = said
	}
}

// isDeclared tells whether a target of a namespace is there, even with a mistake. Nothing is certain of a kind of the
// cluster, nor while a file can't be read.
func (f *Folder) isDeclared(to folderReport, namespace string, t kind.Target) bool {
	k := f.catalog.FindKind(t.Kind)
	if k == nil || k.Cluster || len(f.listing.broken) > 0 {
		return true
	}
	ref := model.Ref(t.Kind, namespace, t.Name)
	_, live := f.objects.PublishedVersion(ref)
	_, broken := to.broken[ref]
	return live || broken
}

// unprotectedTargets are the targets that nothing protects: not a live object of the same name, nor what the file
// declared before and that is kept.
func (f *Folder) unprotectedTargets(d *document, c schema.ClosedTargets) []kind.Target {
	live, known := f.objects.PublishedVersion(c.Object)
	vague := c.TargetsUnknown || c.Object.Kind() == model.KindNone || c.Object.Name() == ""
	switch {
	case c.ClosesDespiteLastGood && !c.TargetsUnknown:
		return c.Targets
	case known && c.TargetsUnknown, !known && vague && d.file.keptDoc != nil:
		return nil
	case !known:
		return c.Targets
	}
	protected, _ := f.catalog.FindKind(c.Object.Kind()).Protects.ClosedTargets(specOf(live))
	return slices.DeleteFunc(slices.Clone(c.Targets), func(t kind.Target) bool {
		return slices.ContainsFunc(protected, t.Equal)
	})
}

// addUnread closes all that is served while a file, or a folder, can't be read that nobody has read so far.
func (f *Folder) addUnread(to folderReport) {
	unread := map[string]string{}
	for path, fl := range f.files {
		if fl.neverRead && fl.problem != "" {
			unread[path] = fl.problem
		}
	}
	for path := range f.neverListed {
		if err := f.listing.broken[path]; err != nil {
			unread[path] = "it can't be read: " + describeError(err)
		}
	}
	for path, why := range unread {
		for _, c := range f.schema.ClosedByFile(path) {
			closed := input.ClosedTargets{Object: c.Object, Kind: c.Kind, Targets: c.Targets, Where: quoteName(path), Why: why}
			to.closed[closed.Key()] = closed
			said := Problem{File: path, Message: c.Describe(nil), Closes: true}
			to.problems[said.Key()] = said
		}
	}
}

// logUnprotected logs which objects are gone that protected something: nothing else tells that it is open now.
func (f *Folder) logUnprotected(edits []objectEdit) {
	told := 0
	for _, e := range edits {
		if e.object != nil || len(f.protectedBy(e.deleted)) == 0 {
			continue
		}
		if told++; told <= maxLogLines {
			f.log.Warn("policy removed", "object", e.ref.String(), "file", quoteName(e.deleted.edit.Where))
		}
	}
	if told > maxLogLines {
		f.log.Warn("more policies removed", "more", told-maxLogLines)
	}
}

// protectedBy are the targets that a good version protects.
func (f *Folder) protectedBy(o *goodVersion) []kind.Target {
	k := f.catalog.FindKind(o.Ref.Kind())
	if k == nil || k.Protects == nil {
		return nil
	}
	targets, _ := k.Protects.ClosedTargets(specOf(o))
	return targets
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
