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
	now               time.Time
	due               time.Time // who waits until then waits no longer; zero: nobody stops waiting
	touched           map[model.ObjectRef]struct{}
	changedNamespaces map[string]struct{} // namespaces that came into use, or went out of it
	edits             []objectEdit

	// broken items that have no good version, the first of each object; nil until somebody asks
	brokenItems map[model.ObjectRef]*item
}

func (f *Folder) newMerge(now, due time.Time) *merge {
	f.backendsWithSlices = nil
	return &merge{Folder: f, now: now, due: due, touched: map[model.ObjectRef]struct{}{},
		changedNamespaces: map[string]struct{}{}}
}

// replaceDocuments puts a file's new documents in the place of its former ones. Documents that are in both keep their
// claims.
func (m *merge) replaceDocuments(fl *file, now documentDiff, chunks []chunk) {
	former := fl.docs
	fl.docs = now.docs
	gone := map[model.ObjectRef]*goodVersion{}
	leave := func(d *document) {
		m.removeClaims(d)
		for i := range d.items {
			gone[d.items[i].objectRef()] = d.items[i].object
		}
	}
	if fl.keptDoc != nil {
		leave(fl.keptDoc)
		fl.keptDoc = nil
	}
	m.resumeEmptied(fl, gone)
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
		m.addClaims(now.docs[n.at])
	}
	m.keepUndeclared(fl, gone)
	m.noteEmptied(fl, gone)
}

// keepLastGood gives a broken document, or its broken objects, the version that was last good.
func (m *merge) keepLastGood(d, pair *document, gone map[model.ObjectRef]*goodVersion) {
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
	if d.failure == nil || found || pair == nil {
		return
	}
	// Its text doesn't tell what it is, or wrongly: it is what stood in its place.
	d.items = nil
	for i := range pair.items {
		if it := &pair.items[i]; it.object != nil && m.winners[it.objectRef()] == nil {
			d.items = append(d.items, item{doc: d, object: it.object,
				note: &note{position: it.itemPosition(), ref: it.objectRef(), label: it.displayName(), stale: true}})
		}
	}
	if len(d.items) == 1 && d.failure.Object == "" {
		d.failure.Object, d.failure.Ref = d.items[0].note.label, d.items[0].note.ref
	}
}

// addClaims adds the claims of a new document.
func (m *merge) addClaims(d *document) {
	flawed := d.failure != nil
	for i := range d.items {
		it := &d.items[i]
		ref := it.objectRef()
		flawed = flawed || len(it.itemProblems()) > 0
		if it.object == nil {
			// Its good version may have stood in another file until now.
			live, known := m.objects.PublishedVersion(ref)
			if !known || live.isBuiltin() || m.winners[ref] != nil || !hasError(it) {
				continue
			}
			it.object, it.note.stale = live, true
		}
		m.setClaims(ref, append(m.claimsOf(ref), it))
		m.touched[ref] = struct{}{}
	}
	if flawed {
		m.flawedDocs[d] = struct{}{}
	}
}

func hasError(it *item) bool {
	return it.doc.failure != nil || slices.ContainsFunc(it.itemProblems(),
		func(p Problem) bool { return p.Severity == model.Error })
}

// removeClaims takes the claims of a document back.
func (m *merge) removeClaims(d *document) {
	delete(m.flawedDocs, d)
	m.touchAll(d)
	for i := range d.items {
		ref := d.items[i].objectRef()
		m.setClaims(ref, slices.DeleteFunc(m.claimsOf(ref), func(it *item) bool { return it.doc == d }))
	}
}

func (m *merge) touchAll(d *document) {
	for i := range d.items {
		m.touched[d.items[i].objectRef()] = struct{}{}
	}
}

// settleObjects decides every object that was touched or waits, then the namespaces that follow from them.
func (m *merge) settleObjects() {
	for _, ref := range slices.SortedFunc(maps.Keys(m.touched), m.catalog.ByNaming) {
		m.decideObject(ref)
	}
	m.recheckOwners()
	m.recheckGrants()
	m.objects.ReleaseDue(m.due, m.publishWinner, m.dropFaded)
	for _, name := range slices.Sorted(maps.Keys(m.changedNamespaces)) {
		m.decideObject(model.Ref(model.KindNamespace, "", name))
	}
}

// decideObject publishes an object's winning version, if that is news.
func (m *merge) decideObject(ref model.ObjectRef) {
	if ref.Kind() == model.KindNone {
		return
	}
	if list := m.contested[ref]; list != nil {
		slices.SortFunc(list, compareClaims)
		m.setClaims(ref, list)
	}
	live, known := m.objects.PublishedVersion(ref)
	declared := known && !live.isBuiltin()
	if m.winners[ref] == nil && declared {
		if it := m.brokenItem(ref); it != nil { // its good version stood in another file
			it.object, it.note.stale = live, true
			m.setClaims(ref, []*item{it})
		}
	}
	switch it := m.winners[ref]; {
	case it != nil:
		delete(m.missingGrants, ref)
		if it.object == live || m.objects.AddVersion(ref, it.object, m.now) {
			m.publishWinner(ref, it.object)
		}
	case declared && ref.Kind() == model.KindReferenceGrant:
		m.noteMissingGrant(ref)
	case declared:
		m.objects.Fade(ref, m.now.Add(Hold))
	default:
		m.dropObject(ref)
	}
}

// publishWinner sets the version of an object that the text has that wins.
func (m *merge) publishWinner(_ model.ObjectRef, o *goodVersion) {
	m.setVersion(o, m.winners[o.Ref].doc.file.relPath)
}

// dropFaded drops an object, unless its file is about to be written, or nobody knows whether that is there.
func (m *merge) dropFaded(ref model.ObjectRef) {
	switch o, _ := m.objects.PublishedVersion(ref); {
	case m.awaitEmptied(ref) || m.awaitGrant(ref):
	case m.listing.isUnknown(o.edit.Where):
		m.objects.Fade(ref, m.now.Add(Hold))
	default:
		m.dropObject(ref)
	}
}

// brokenItem is the first item that declares an object, with a mistake, and has no good version of it; nil if there is
// none. No document comes or goes after it was asked for.
func (m *merge) brokenItem(ref model.ObjectRef) *item {
	if m.brokenItems == nil {
		m.brokenItems = map[model.ObjectRef]*item{}
		for d := range m.flawedDocs {
			for i := range d.items {
				it := &d.items[i]
				if first := m.brokenItems[it.objectRef()]; it.object == nil && hasError(it) &&
					(first == nil || compareClaims(it, first) < 0) {
					m.brokenItems[it.objectRef()] = it
				}
			}
		}
	}
	return m.brokenItems[ref]
}

// dropObject takes away an object that nothing declares. An object that is there by itself comes back.
func (m *merge) dropObject(ref model.ObjectRef) {
	if o := m.builtinObject(ref); o != nil {
		m.setVersion(o, "")
	} else if last, was := m.objects.Remove(ref); was {
		m.countObject(ref.Namespace(), -1)
		m.edits = append(m.edits, objectEdit{ref: ref, deleted: last})
	}
	delete(m.missingGrants, ref)
}

// setVersion publishes a version. A version with an unchanged spec keeps its generation and the time of its edit.
func (m *merge) setVersion(o *goodVersion, where string) {
	current, known := m.objects.SetPublished(o.Ref, o)
	edited := model.LastEdit{At: o.edit.At, Latest: o.edit.Latest, Where: where}
	var before model.Meta
	same := false
	if !known {
		o.generation = o.firstGeneration()
		m.countObject(o.Ref.Namespace(), +1)
	} else {
		before = current.publishedMeta()
		same = current == o || reflect.DeepEqual(current.Spec, o.Spec)
		o.generation = before.Generation
		if !same {
			o.generation++
		} else if !current.isBuiltin() {
			edited.At, edited.Latest = before.LastEdit.At, before.LastEdit.Latest
		}
	}
	if *o.edit != edited {
		o.edit = new(edited)
	}
	if !same || !reflect.DeepEqual(before, o.publishedMeta()) {
		m.edits = append(m.edits, objectEdit{ref: o.Ref, object: o})
	}
}

// countObject counts the objects of a namespace.
func (m *merge) countObject(namespace string, n int) {
	if m.namespaces.AddObjects(namespace, n) {
		m.changedNamespaces[namespace] = struct{}{}
	}
}

// builtinObject is an object that is there without a file; nil if there is none of that name.
func (m *merge) builtinObject(ref model.ObjectRef) *goodVersion {
	o, is := m.namespaces.ObjectOf(ref)
	if !is {
		return nil
	}
	return &goodVersion{Object: schema.Object{Ref: ref, Labels: o.Labels, Spec: o.Spec}, edit: &model.LastEdit{}}
}
