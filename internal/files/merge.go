package files

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
)

// claim says that an item declares an object. Of several claims the first by path and line wins.
type claim struct {
	file *file
	doc  *document
	item *item
}

func compareClaims(a, b claim) int {
	return cmp.Or(strings.Compare(a.file.path, b.file.path), a.doc.line-b.doc.line, strings.Compare(a.item.path, b.item.path))
}

// live is an object as it was published.
type live struct {
	object *object
	meta   model.Meta
}

// merge is the work of one scan on the claims: which objects were touched, and what follows for the sources.
type merge struct {
	*Folder
	now     time.Time
	expire  bool // objects that lost their text long enough ago may go
	touched map[model.ObjectRef]struct{}
	spaces  map[string]struct{} // namespaces whose use began or ended
	edits   []edit

	withSlices map[model.ObjectRef]bool // Services that have EndpointSlices; nil until somebody asks
}

func (f *Folder) newMerge(now time.Time, expire bool) *merge {
	return &merge{Folder: f, now: now, expire: expire, touched: map[model.ObjectRef]struct{}{}, spaces: map[string]struct{}{}}
}

// replace puts a file's new documents in the place of its former ones. Documents that are in both keep their claims.
func (m *merge) replace(fl *file, now matched, chunks []chunk) {
	former := fl.docs
	fl.docs = now.docs
	changed := now.docs[now.head : len(now.docs)-now.tail]
	m.scan++
	for _, d := range changed {
		d.scan = m.scan
		if now.reordered {
			m.touchAll(d)
		}
	}
	gone := map[model.ObjectRef]*item{}
	for _, d := range former[now.head : len(former)-now.tail] {
		if d.scan != m.scan {
			m.release(d)
			for _, it := range d.items {
				gone[it.ref] = it
			}
		}
	}
	for i := now.head; i < len(now.docs); i++ {
		now.docs[i].line = chunks[i].line
	}
	for _, i := range now.fresh {
		m.keepLastGood(now.docs[i], gone)
		m.claim(fl, now.docs[i])
	}
}

// keepLastGood gives a broken document, or its broken objects, the version that was last good.
func (m *merge) keepLastGood(d *document, gone map[model.ObjectRef]*item) {
	pair := d.pair
	d.pair = nil
	found := false
	for _, it := range d.items {
		if it.object != nil || it.ref.Kind == model.KindNone {
			continue
		}
		if last := gone[it.ref]; last != nil && last.object != nil {
			it.object, it.stale, found = last.object, true, true
		}
	}
	if !d.broken || found || pair == nil {
		return
	}
	// Its text doesn't tell what it is, or wrongly: it is what stood in its place.
	d.items = nil
	for _, it := range pair.items {
		if it.object != nil && len(m.claims[it.ref]) == 0 {
			d.items = append(d.items, &item{path: it.path, ref: it.ref, label: it.label, object: it.object, stale: true})
		}
	}
	if len(d.items) == 1 && len(d.flaws) == 1 && d.flaws[0].Object == "" {
		d.flaws[0].Object, d.flaws[0].Ref = d.items[0].label, d.items[0].ref
	}
}

func (m *merge) claim(fl *file, d *document) {
	for _, it := range d.items {
		if it.object == nil {
			// Its good version may have stood in another file until now.
			if l := m.live[it.ref]; l != nil && !l.object.builtin && len(m.claims[it.ref]) == 0 && hasError(it, d) {
				it.object, it.stale = l.object, true
			} else {
				continue
			}
		}
		m.claims[it.ref] = append(m.claims[it.ref], claim{fl, d, it})
		m.touched[it.ref] = struct{}{}
	}
	if len(d.flaws) > 0 || slices.ContainsFunc(d.items, func(it *item) bool { return len(it.flaws) > 0 }) {
		m.flawed[d] = fl
	}
}

func hasError(it *item, d *document) bool {
	return d.broken || slices.ContainsFunc(it.flaws, func(p Problem) bool { return p.Severity == model.Error })
}

func (m *merge) release(d *document) {
	delete(m.flawed, d)
	for _, it := range d.items {
		list := slices.DeleteFunc(m.claims[it.ref], func(c claim) bool { return c.doc == d })
		if len(list) == 0 {
			delete(m.claims, it.ref)
		} else {
			m.claims[it.ref] = list
		}
		m.touched[it.ref] = struct{}{}
	}
}

func (m *merge) touchAll(d *document) {
	for _, it := range d.items {
		m.touched[it.ref] = struct{}{}
	}
}

// settle decides every object that was touched or waits, then the namespaces that follow from them.
func (m *merge) settle() {
	for ref := range m.held {
		m.touched[ref] = struct{}{}
	}
	for _, ref := range slices.SortedFunc(maps.Keys(m.touched), byNaming) {
		m.decide(ref)
	}
	if m.expire {
		for _, ref := range slices.SortedFunc(maps.Keys(m.fading), model.ObjectRef.Compare) {
			switch {
			case m.now.Before(m.fading[ref]):
			case m.listing.unknown(m.live[ref].meta.Edit.Where):
				m.fading[ref] = m.now.Add(Hold) // nobody knows whether its file is there
			default:
				m.drop(ref)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.spaces)) {
		m.decide(model.Ref(model.KindNamespace, "", name))
	}
}

// decide publishes an object's winning version, if that is news.
func (m *merge) decide(ref model.ObjectRef) {
	if ref.Kind == model.KindNone {
		return
	}
	claims := m.claims[ref]
	slices.SortFunc(claims, compareClaims)
	if len(claims) > 1 {
		m.contested[ref] = struct{}{}
	} else {
		delete(m.contested, ref)
	}
	if len(claims) > 0 {
		delete(m.fading, ref)
		if !m.waits(claims[0].item.object) {
			delete(m.held, ref)
			m.set(claims[0].item.object, claims[0].file.path)
		}
		return
	}
	delete(m.held, ref)
	current := m.live[ref]
	// A ReferenceGrant that is gone is a permission taken back: that can't wait.
	if current != nil && !current.object.builtin && ref.Kind != model.KindReferenceGrant {
		if _, ok := m.fading[ref]; !ok {
			m.fading[ref] = m.now.Add(Hold)
		}
		return
	}
	m.drop(ref)
}

// drop takes away an object that nothing declares. What is there by itself comes back.
func (m *merge) drop(ref model.ObjectRef) {
	delete(m.fading, ref)
	if o := m.builtin(ref); o != nil {
		m.set(o, "")
		return
	}
	if m.live[ref] == nil {
		return
	}
	delete(m.live, ref)
	m.use(ref.Namespace, -1)
	m.edits = append(m.edits, edit{ref: ref})
}

func (m *merge) set(o *object, where string) {
	current := m.live[o.ref]
	meta := o.meta(current, where)
	if current == nil {
		m.live[o.ref] = &live{o, meta}
		m.use(o.ref.Namespace, +1)
	} else {
		same := reflect.DeepEqual(meta, current.meta) && (current.object == o || reflect.DeepEqual(current.object.spec, o.spec))
		m.live[o.ref] = &live{o, meta}
		if same {
			return
		}
	}
	m.edits = append(m.edits, edit{ref: o.ref, meta: meta, object: o})
}

// use counts the objects of a namespace, since one that has any exists.
func (m *merge) use(namespace string, n int) {
	if namespace == "" {
		return
	}
	before := m.uses[namespace]
	m.uses[namespace] += n
	if before == 0 || before+n == 0 {
		m.spaces[namespace] = struct{}{}
	}
	if before+n == 0 {
		delete(m.uses, namespace)
	}
}

// builtin is an object that is there without a file; nil if there is none of that name.
func (m *merge) builtin(ref model.ObjectRef) *object {
	o := &object{ref: ref, uid: derivedUID(ref), builtin: true}
	switch {
	case ref == defaultClass:
		o.spec = gatewayv1.GatewayClassSpec{ControllerName: model.ControllerName, Description: new("Gateways that Cardea runs.")}
	case ref.Kind == model.KindNamespace && m.uses[ref.Name] > 0:
		o.spec = input.NamespaceSpec{}
		o.labels = map[string]string{corev1.LabelMetadataName: ref.Name}
	default:
		return nil
	}
	return o
}

// meta is the metadata to publish. What did not change the spec changes neither generation nor edit.
func (o *object) meta(current *live, where string) model.Meta {
	meta := model.Meta{UID: o.uid, Generation: max(1, o.generation), Created: o.created, Labels: o.labels, Edit: model.Edit{At: o.at, Where: where}}
	switch {
	case current == nil:
	case reflect.DeepEqual(current.object.spec, o.spec):
		meta.Generation = current.meta.Generation
		if !current.object.builtin {
			meta.Edit.At = current.meta.Edit.At
		}
	default:
		meta.Generation = current.meta.Generation + 1
	}
	return meta
}
