package files

import (
	"errors"
	"fmt"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
)

// job is a document to be parsed and checked.
type job struct {
	chunk        chunk
	doc          *document
	edit         *model.LastEdit
	priorObjects map[digest]*goodVersion // of the Lists among the file's former documents
}

// checkDocument finds out what objects the job's text is. It only reads the Folder.
func (f *Folder) checkDocument(j *job, pool *schema.Pool) {
	whole := digestOf(j.chunk.text, j.chunk.json)
	j.doc.items = j.doc.inlineItem[:0]
	if j.chunk.err == nil {
		if o := f.cachedObject(whole, j, pool); o != nil {
			j.doc.items = append(j.doc.items, item{doc: j.doc, object: o})
			return
		}
	}
	f.stats.parsed.Add(1)
	value, err := decodeChunk(j.chunk)
	if err != nil {
		ref, label := f.identifyText(j.chunk.text)
		f.noteParseFailure(j, err, ref, label)
		for _, object := range salvageObjects(j.chunk.text) {
			j.doc.failure.addClosed(f.schema.ClosedTargets(object), nil, "")
		}
		return
	}
	objects, isList, err := expandList(value)
	if err != nil {
		doc, _ := value.(map[string]any)
		ref, label := f.schema.Identify(doc)
		f.noteParseFailure(j, err, ref, label)
		j.doc.failure.addClosed(f.schema.ClosedWithin(value), j.chunk.text, "")
		return
	}
	for _, o := range objects {
		if !isList {
			j.doc.items = append(j.doc.items, f.checkObject(j, o, whole, pool))
			continue
		}
		d := digestOfValue(o.doc)
		it := item{doc: j.doc, object: j.priorObjects[d]}
		if it.object == nil {
			it.object = f.cachedObject(d, j, pool)
		}
		if it.object == nil {
			it = f.checkObject(j, o, d, pool)
		}
		if it.note == nil {
			it.note = &note{position: o.position, ref: it.object.Ref, label: it.object.Ref.String()}
		}
		j.doc.items = append(j.doc.items, it)
	}
	f.noteClosedTargets(j)
	if isList {
		j.noteListWarnings(value.(map[string]any))
	}
}

// noteListWarnings notes what is wrong with a List itself, as an item without an object.
func (j *job) noteListWarnings(doc map[string]any) {
	kind, _ := doc["kind"].(string)
	n := &note{label: kind}
	for _, p := range listWarnings(doc) {
		n.problems = append(n.problems, Problem{
			Line: lineOf(j.chunk.text, "", p.Field) - 1, Object: kind, Field: p.Field, Message: p.Message, Severity: p.Severity,
		})
	}
	if len(n.problems) > 0 {
		j.doc.items = append(j.doc.items, item{doc: j.doc, note: n})
	}
}

// noteClosedTargets finds out what the objects protect that are not valid. They are decoded once more: who checked them
// took out what is not known.
func (f *Folder) noteClosedTargets(j *job) {
	var objects []documentObject
	for i := range j.doc.items {
		it := &j.doc.items[i]
		if len(it.itemProblems()) == 0 {
			continue
		}
		if objects == nil {
			value, err := decodeChunk(j.chunk)
			if err == nil {
				objects, _, err = expandList(value)
			}
			if err != nil {
				panic(fmt.Sprintf("files: a text that was decoded can't be: %v", err))
			}
		}
		it.note.closedTargets = locateClosed(f.schema.ClosedTargets(objects[i].doc), j.chunk.text, objects[i].position)
	}
}

// locateClosed finds the lines of the objects that close something. base is where the document's object stands in the
// text; no text: its lines are not known.
func locateClosed(list []schema.ClosedTargets, text []byte, base string) (located []closing) {
	for _, c := range list {
		at := closing{ClosedTargets: c}
		if c.Path != "" && text != nil {
			at.line = lineOf(text, base, c.Path) - 1
		}
		located = append(located, at)
	}
	return located
}

func (t *parseFailure) addClosed(list []schema.ClosedTargets, text []byte, base string) {
	t.closedTargets = append(t.closedTargets, locateClosed(list, text, base)...)
}

// cachedObject is the object that an earlier run made of a text; nil if that is not known.
func (f *Folder) cachedObject(d digest, j *job, pool *schema.Pool) *goodVersion {
	o, known := f.cache.LoadObject(pool, d)
	if !known {
		return nil
	}
	return newGoodVersion(o, d, j.edit)
}

func (f *Folder) checkObject(j *job, listed documentObject, d digest, pool *schema.Pool) item {
	f.stats.checked.Add(1)
	ref, label := f.schema.Identify(listed.doc)
	options := schema.Options{KnownValid: f.cache.IsValid(d)}
	if live, known := f.objects.PublishedVersion(ref); known {
		options.Old = live.Old
	}
	obj, problems := f.schema.Check(listed.doc, options)
	if obj != nil {
		return item{doc: j.doc, object: newGoodVersion(f.schema.ShareContent(pool, obj), d, j.edit)}
	}
	n := &note{position: listed.position, ref: ref, label: label}
	for _, p := range problems {
		n.problems = append(n.problems, Problem{
			Line: lineOf(j.chunk.text, listed.position, p.Field) - 1, Object: label, Ref: ref,
			Field: p.Field, Message: p.Message, Severity: p.Severity,
		})
	}
	return item{doc: j.doc, note: n}
}

// noteParseFailure notes that the text can't be parsed, and which object it seems to be about.
func (f *Folder) noteParseFailure(j *job, err error, ref model.ObjectRef, label string) {
	p := &parseFailure{Problem: Problem{Message: err.Error()}}
	if syntax, ok := errors.AsType[*syntaxError](err); ok {
		p.Line, p.syntax = max(0, syntax.line-1), syntax
		p.key = err.Error()
	}
	p.Ref, p.Object = ref, label
	j.doc.failure = p
	if ref.Kind() != model.KindNone {
		j.doc.items = append(j.doc.items, item{doc: j.doc, note: &note{ref: ref, label: label}})
	}
}
