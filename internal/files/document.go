package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/schema"
)

// file is what was last read of one file.
type file struct {
	path    string
	info    fs.FileInfo // of the last read
	docs    []*document
	problem string // why it could not be read as a whole; its documents are then those of the last good read
	line    int    // where, if that is known
}

// document is one document of a file. It stays the same value while its text does, wherever that moves in the file.
type document struct {
	hash   fingerprint
	line   int     // its first line in the file
	items  []*item // its object, or those of a List
	flaws  []Problem
	broken bool // it could not be parsed: its items, if any, are what stood in its place
	pair   *document
	scan   int // the last scan that found it
}

// item is one object in a document.
type item struct {
	digest digest // of its text, if that was parsed
	path   string // where it stands in the document: "" or "items[3]"
	ref    model.ObjectRef
	label  string
	object *object // nil if there is no good version
	stale  bool    // object is an earlier version than the text
	flaws  []Problem
}

// object is a good version of an object.
type object struct {
	ref        model.ObjectRef
	spec       any // by value, as package schema gives it
	labels     map[string]string
	created    time.Time
	uid        string
	generation int64     // as written; 0 if not
	at         time.Time // its file's modification time when it was read
	old        map[string]any
	builtin    bool
}

// job is a document to be parsed and checked.
type job struct {
	file  *file
	chunk chunk
	doc   *document
	at    time.Time
	known map[digest]*item // items of the file's former documents, for Lists
}

// check parses the job's text and checks its objects. It only reads the Folder.
func (f *Folder) check(j *job) {
	f.stats.parsed.Add(1)
	value, err := decode(j.chunk, isJSON(j.file.path))
	var objects []listed
	isList := false
	if err == nil {
		objects, isList, err = expand(value)
	}
	if err != nil {
		j.fail(err)
		return
	}
	whole := digestOf(j.chunk.text)
	for _, o := range objects {
		it := &item{path: o.path, digest: whole}
		if isList {
			it.digest = digestOfValue(o.doc)
			if same := j.known[it.digest]; same != nil {
				reused := *same
				reused.path = o.path
				j.doc.items = append(j.doc.items, &reused)
				continue
			}
		}
		f.checkObject(j, it, o.doc)
		j.doc.items = append(j.doc.items, it)
	}
}

func (f *Folder) checkObject(j *job, it *item, doc map[string]any) {
	f.stats.checked.Add(1)
	it.ref, it.label = f.schema.Identify(doc)
	options := schema.Options{KnownValid: f.valid.has(it.digest)}
	if l := f.live[it.ref]; l != nil {
		options.Old = l.object.old
	}
	obj, problems := f.schema.Check(doc, options)
	for _, p := range problems {
		it.flaws = append(it.flaws, Problem{
			Line: lineOf(j.chunk.text, it.path, p.Field) - 1, Object: it.label, Ref: it.ref,
			Field: p.Field, Message: p.Message, Severity: p.Severity,
		})
	}
	if obj != nil {
		it.ref, it.label = obj.Ref, obj.Ref.String()
		it.object = newObject(obj, j.at)
	}
}

// fail notes that the text can't be parsed, and which object it seems to be about.
func (j *job) fail(err error) {
	j.doc.broken = true
	p := Problem{Message: err.Error()}
	var syntax *syntaxError
	if errors.As(err, &syntax) && syntax.line > 0 {
		p.Line = syntax.line - 1
	}
	ref, label := identify(j.chunk.text)
	p.Ref, p.Object = ref, label
	j.doc.flaws = []Problem{p}
	if ref.Kind != model.KindNone {
		j.doc.items = []*item{{ref: ref, label: label}}
	}
}

func newObject(o *schema.Object, at time.Time) *object {
	labels := o.Labels
	if o.Ref.Kind == model.KindNamespace {
		labels = maps.Clone(labels)
		if labels == nil {
			labels = map[string]string{}
		}
		labels[corev1.LabelMetadataName] = o.Ref.Name
	}
	var stated schema.Stated
	if o.Stated != nil {
		stated = *o.Stated
	}
	if stated.UID == "" {
		stated.UID = derivedUID(o.Ref)
	}
	return &object{
		ref: o.Ref, spec: o.Spec, labels: labels, created: stated.Created, uid: stated.UID, generation: stated.Generation, at: at, old: o.Old,
	}
}

// derivedUID is a UID that is the same in every run.
func derivedUID(ref model.ObjectRef) string {
	d := digestOf([]byte(ref.Kind.Group() + "/" + ref.Kind.String() + "/" + ref.Namespace + "/" + ref.Name))
	d[6], d[8] = d[6]&0x0f|0x80, d[8]&0x3f|0x80 // a UUID of version 8: made by a rule of our own
	return fmt.Sprintf("%x-%x-%x-%x-%x", d[0:4], d[4:6], d[6:8], d[8:10], d[10:16])
}

func digestOfValue(v any) digest {
	text, err := json.Marshal(v)
	if err != nil {
		return digest{} // can't be: it was decoded from text
	}
	return digestOf(text)
}
