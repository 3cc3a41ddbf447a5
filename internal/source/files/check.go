package files

import (
	"errors"
	"fmt"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
)

// job is a document to be parsed and checked.
type job struct {
	chunk chunk
	doc   *document
	edit  *model.Edit
	known map[digest]*object // of the Lists among the file's former documents
}

// check finds out what objects the job's text is. It only reads the Folder.
func (f *Folder) check(j *job, pool *schema.Pool) {
	whole := digestOf(j.chunk.text, j.chunk.json)
	j.doc.items = j.doc.only[:0]
	if j.chunk.err == nil {
		if o := f.remembered(whole, j, pool); o != nil {
			j.doc.items = append(j.doc.items, item{doc: j.doc, object: o})
			return
		}
	}
	f.stats.parsed.Add(1)
	value, err := decode(j.chunk)
	var objects []listed
	isList := false
	if err == nil {
		objects, isList, err = expand(value)
	}
	if err != nil {
		f.fail(j, err)
		return
	}
	for _, o := range objects {
		if !isList {
			j.doc.items = append(j.doc.items, f.checkObject(j, o, whole, pool))
			continue
		}
		d := digestOfValue(o.doc)
		it := item{doc: j.doc, object: j.known[d]}
		if it.object == nil {
			it.object = f.remembered(d, j, pool)
		}
		if it.object == nil {
			it = f.checkObject(j, o, d, pool)
		}
		if it.note == nil {
			it.note = &note{path: o.path, ref: it.object.Ref, label: it.object.Ref.String()}
		}
		j.doc.items = append(j.doc.items, it)
	}
	f.protects(j)
}

// protects finds out what the objects protect that are not valid. They are decoded once more: who checked them took out
// what is not known.
func (f *Folder) protects(j *job) {
	var objects []listed
	for i := range j.doc.items {
		it := &j.doc.items[i]
		if len(it.flaws()) == 0 {
			continue
		}
		if objects == nil {
			value, err := decode(j.chunk)
			if err == nil {
				objects, _, err = expand(value)
			}
			if err != nil {
				panic(fmt.Sprintf("files: a text that was decoded can't be: %v", err))
			}
		}
		it.note.closes = f.schema.Closes(objects[i].doc)
	}
}

// remembered is the object that an earlier run made of a text; nil if that is not known.
func (f *Folder) remembered(d digest, j *job, pool *schema.Pool) *object {
	o, known := f.memory.Object(pool, d)
	if !known {
		return nil
	}
	return newObject(o, d, j.edit)
}

func (f *Folder) checkObject(j *job, listed listed, d digest, pool *schema.Pool) item {
	f.stats.checked.Add(1)
	ref, label := f.schema.Identify(listed.doc)
	options := schema.Options{KnownValid: f.memory.Valid(d)}
	if live, known := f.life.Known(ref); known {
		options.Old = live.Old
	}
	obj, problems := f.schema.Check(listed.doc, options)
	if obj != nil {
		return item{doc: j.doc, object: newObject(f.schema.Share(pool, obj), d, j.edit)}
	}
	n := &note{path: listed.path, ref: ref, label: label}
	for _, p := range problems {
		n.flaws = append(n.flaws, Problem{
			Line: lineOf(j.chunk.text, listed.path, p.Field) - 1, Object: label, Ref: ref,
			Field: p.Field, Message: p.Message, Severity: p.Severity,
		})
	}
	return item{doc: j.doc, note: n}
}

// fail notes that the text can't be parsed, and which object it seems to be about.
func (f *Folder) fail(j *job, err error) {
	p := &trouble{Problem: Problem{Message: err.Error()}}
	if syntax, ok := errors.AsType[*syntaxError](err); ok {
		p.Line, p.syntax = max(0, syntax.line-1), syntax
		p.key = err.Error()
	}
	ref, label := f.identify(j.chunk.text)
	p.Ref, p.Object = ref, label
	for _, object := range salvage(j.chunk.text) {
		p.closes = append(p.closes, f.schema.Closes(object)...)
	}
	j.doc.trouble = p
	if ref.Kind() != model.KindNone {
		j.doc.items = append(j.doc.items, item{doc: j.doc, note: &note{ref: ref, label: label}})
	}
}
