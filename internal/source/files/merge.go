package files

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
)

// merge is the work of one scan on the claims: which objects were touched, and what follows for the sources.
type merge struct {
	*Folder
	now     time.Time
	due     time.Time // who waits until then waits no longer; zero: nobody stops waiting
	touched map[model.ObjectRef]struct{}
	spaces  map[string]struct{} // namespaces that came into use, or went out of it
	edits   []edit

	// broken items that have no good version, the first of each object; nil until somebody asks
	goodless map[model.ObjectRef]*item
}

func (f *Folder) newMerge(now, due time.Time) *merge {
	f.sliced = nil
	return &merge{Folder: f, now: now, due: due, touched: map[model.ObjectRef]struct{}{}, spaces: map[string]struct{}{}}
}

// replace puts a file's new documents in the place of its former ones. Documents that are in both keep their claims.
func (m *merge) replace(fl *file, now matched, chunks []chunk) {
	former := fl.docs
	fl.docs = now.docs
	gone := map[model.ObjectRef]*object{}
	leave := func(d *document) {
		m.release(d)
		for i := range d.items {
			gone[d.items[i].ref()] = d.items[i].object
		}
	}
	if fl.kept != nil {
		leave(fl.kept)
		fl.kept = nil
	}
	m.resume(fl, gone)
	stay := map[*document]struct{}{}
	if len(former) > now.head+now.tail {
		for _, d := range now.docs[now.head : len(now.docs)-now.tail] {
			stay[d] = struct{}{}
		}
	}
	for _, d := range former[now.head : len(former)-now.tail] {
		if _, ok := stay[d]; !ok {
			leave(d)
		} else if now.reordered {
			m.touchAll(d)
		}
	}
	for i, c := range chunks { // comments between documents may have moved all of them
		now.docs[i].line = c.line
	}
	for _, n := range now.fresh {
		m.keepLastGood(now.docs[n.at], n.pair, gone)
		m.declare(now.docs[n.at])
	}
	m.keep(fl, gone)
	m.empty(fl, gone)
}

// keepLastGood gives a broken document, or its broken objects, the version that was last good.
func (m *merge) keepLastGood(d, pair *document, gone map[model.ObjectRef]*object) {
	found := false
	for i := range d.items {
		it := &d.items[i]
		if it.object != nil || it.note.ref.Kind() == model.KindNone {
			continue
		}
		if last := gone[it.note.ref]; last != nil {
			it.object, it.note.stale, found = last, true, true
		}
	}
	if d.trouble == nil || found || pair == nil {
		return
	}
	// Its text doesn't tell what it is, or wrongly: it is what stood in its place.
	d.items = nil
	for i := range pair.items {
		if it := &pair.items[i]; it.object != nil && m.winners[it.ref()] == nil {
			d.items = append(d.items, item{doc: d, object: it.object,
				note: &note{path: it.path(), ref: it.ref(), label: it.label(), stale: true}})
		}
	}
	if len(d.items) == 1 && d.trouble.Object == "" {
		d.trouble.Object, d.trouble.Ref = d.items[0].note.label, d.items[0].note.ref
	}
}

// declare adds the claims of a new document.
func (m *merge) declare(d *document) {
	flawed := d.trouble != nil
	for i := range d.items {
		it := &d.items[i]
		ref := it.ref()
		flawed = flawed || len(it.flaws()) > 0
		if it.object == nil {
			// Its good version may have stood in another file until now.
			live, known := m.life.Known(ref)
			if !known || live.builtin() || m.winners[ref] != nil || !hasError(it) {
				continue
			}
			it.object, it.note.stale = live, true
		}
		m.setClaims(ref, append(m.claims(ref), it))
		m.touched[ref] = struct{}{}
	}
	if flawed {
		m.flawed[d] = struct{}{}
	}
}

func hasError(it *item) bool {
	return it.doc.trouble != nil || slices.ContainsFunc(it.flaws(),
		func(p Problem) bool { return p.Severity == model.Error })
}

// release takes the claims of a document back.
func (m *merge) release(d *document) {
	delete(m.flawed, d)
	m.touchAll(d)
	for i := range d.items {
		ref := d.items[i].ref()
		m.setClaims(ref, slices.DeleteFunc(m.claims(ref), func(it *item) bool { return it.doc == d }))
	}
}

func (m *merge) touchAll(d *document) {
	for i := range d.items {
		m.touched[d.items[i].ref()] = struct{}{}
	}
}

// settle decides every object that was touched or waits, then the namespaces that follow from them.
func (m *merge) settle() {
	for _, ref := range slices.SortedFunc(maps.Keys(m.touched), m.catalog.ByNaming) {
		m.decide(ref)
	}
	m.answer()
	m.reconsider()
	m.life.Settle(m.due, m.publish, m.faded)
	for _, name := range slices.Sorted(maps.Keys(m.spaces)) {
		m.decide(model.Ref(model.KindNamespace, "", name))
	}
}

// decide publishes an object's winning version, if that is news.
func (m *merge) decide(ref model.ObjectRef) {
	if ref.Kind() == model.KindNone {
		return
	}
	if list := m.contested[ref]; list != nil {
		slices.SortFunc(list, compareClaims)
		m.setClaims(ref, list)
	}
	live, known := m.life.Known(ref)
	declared := known && !live.builtin()
	if m.winners[ref] == nil && declared {
		if it := m.broken(ref); it != nil { // its good version stood in another file
			it.object, it.note.stale = live, true
			m.setClaims(ref, []*item{it})
		}
	}
	switch it := m.winners[ref]; {
	case it != nil:
		delete(m.missed, ref)
		if it.object == live || m.life.Arrive(ref, it.object, m.now) {
			m.publish(ref, it.object)
		}
	case declared && ref.Kind() == model.KindReferenceGrant:
		m.miss(ref)
	case declared:
		m.life.Fade(ref, m.now.Add(Hold))
	default:
		m.drop(ref)
	}
}

// publish sets the version of an object that the text has that wins.
func (m *merge) publish(_ model.ObjectRef, o *object) { m.set(o, m.winners[o.Ref].doc.file.path) }

// faded drops an object, unless its file is about to be written, or nobody knows whether that is there.
func (m *merge) faded(ref model.ObjectRef) {
	switch o, _ := m.life.Known(ref); {
	case m.await(ref) || m.wait(ref):
	case m.listing.unknown(o.edit.Where):
		m.life.Fade(ref, m.now.Add(Hold))
	default:
		m.drop(ref)
	}
}

// broken is the first item that declares an object, with a mistake, and has no good version of it; nil if there is
// none. No document comes or goes after it was asked for.
func (m *merge) broken(ref model.ObjectRef) *item {
	if m.goodless == nil {
		m.goodless = map[model.ObjectRef]*item{}
		for d := range m.flawed {
			for i := range d.items {
				it := &d.items[i]
				if first := m.goodless[it.ref()]; it.object == nil && hasError(it) &&
					(first == nil || compareClaims(it, first) < 0) {
					m.goodless[it.ref()] = it
				}
			}
		}
	}
	return m.goodless[ref]
}

// drop takes away an object that nothing declares. An object that is there by itself comes back.
func (m *merge) drop(ref model.ObjectRef) {
	if o := m.builtin(ref); o != nil {
		m.set(o, "")
	} else if last, was := m.life.Remove(ref); was {
		m.use(ref.Namespace(), -1)
		m.edits = append(m.edits, edit{ref: ref, last: last})
	}
	delete(m.missed, ref)
}

// set publishes a version. A version with an unchanged spec keeps its generation and the time of its edit.
func (m *merge) set(o *object, where string) {
	current, known := m.life.Publish(o.Ref, o)
	edited := model.Edit{At: o.edit.At, Latest: o.edit.Latest, Where: where}
	var before model.Meta
	same := false
	if !known {
		o.generation = o.stated()
		m.use(o.Ref.Namespace(), +1)
	} else {
		before = current.meta()
		same = current == o || reflect.DeepEqual(current.Spec, o.Spec)
		o.generation = before.Generation
		if !same {
			o.generation++
		} else if !current.builtin() {
			edited.At, edited.Latest = before.Edit.At, before.Edit.Latest
		}
	}
	if *o.edit != edited {
		o.edit = new(edited)
	}
	if !same || !reflect.DeepEqual(before, o.meta()) {
		m.edits = append(m.edits, edit{ref: o.Ref, object: o})
	}
}

// use counts the objects of a namespace.
func (m *merge) use(namespace string, n int) {
	if m.uses.Use(namespace, n) {
		m.spaces[namespace] = struct{}{}
	}
}

// builtin is an object that is there without a file; nil if there is none of that name.
func (m *merge) builtin(ref model.ObjectRef) *object {
	o, is := m.uses.Of(ref)
	if !is {
		return nil
	}
	return &object{Object: schema.Object{Ref: ref, Labels: o.Labels, Spec: o.Spec}, edit: &model.Edit{}}
}
