package kube

import (
	"maps"
	"slices"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/arrival"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/kind"
	"cardea.dev/cardea/internal/model"
)

// desk decides what goes into the graph, and when. One goroutine uses it.
//
// An object's version is, in turn:
//
//	set ─> whose is it? ─> is all read that it refers to? ─> is all there that it begins to name? ─> known (in the graph)
//	            │                    │ no                             │ no
//	            └─> parked           └──────────> held <──────────────┘
//
//	removed ──> fading ──> gone
type desk struct {
	graph   *flow.Graph
	sources *input.Sources
	catalog *kind.Catalog
	ask     func(model.ObjectRef, kind.Keys) (stop func()) // begins to read one object
	again   func(model.Kind)                               // lists a kind again
	now     time.Time                                      // of this round of work

	kinds  map[model.Kind]*shelf
	held   map[model.ObjectRef]*held
	fading map[model.ObjectRef]time.Time // until when
	backed map[model.ObjectRef]int       // EndpointSlices with endpoints, by backend
	others others
	wanted wanted
	grants grants
	synced bool

	edits  []edit
	relist map[model.Kind]struct{}
}

// shelf is what the desk keeps of a kind.
type shelf struct {
	known   map[model.ObjectRef]entry
	read    bool    // it was listed, or can't be
	waiting waiting // before another kind was read it can't be judged
}

// entry is an object that is in the graph.
type entry struct {
	print          uint64
	index          *index // nil if there is nothing in it
	whole, trimmed bool   // as in object
}

// held is a version that waits. The version before it, if there is one, stays in the graph.
type held struct {
	object  *object
	blocked bool      // by an answer that is still to come, about what is read for it
	until   time.Time // for what it names to arrive; zero: it does not wait for that yet
}

func (h *held) names() []kind.Reference {
	if h == nil {
		return nil
	}
	return h.object.index.names
}

// edit is one for the graph: an object's new version, or nil; or why it can't be read.
type edit struct {
	ref    model.ObjectRef
	object *object
	unread bool
	why    string // of unread; "" if it can be read now
}

func newDesk(graph *flow.Graph, sources *input.Sources) *desk {
	d := &desk{
		graph: graph, sources: sources, catalog: sources.Catalog,
		kinds: map[model.Kind]*shelf{}, held: map[model.ObjectRef]*held{}, fading: map[model.ObjectRef]time.Time{},
		backed: map[model.ObjectRef]int{}, relist: map[model.Kind]struct{}{},
		others: others{classes: map[string]bool{}, parked: map[model.ObjectRef][]kind.Reference{}},
		grants: grants{},
		wanted: wanted{
			objects: map[model.ObjectRef]*demand{}, by: map[model.ObjectRef][]model.ObjectRef{},
			refused: map[string]map[model.ObjectRef]struct{}{}, refusedIn: map[model.ObjectRef][]string{},
		},
	}
	for _, k := range d.catalog.All() {
		d.kinds[k.Kind] = &shelf{known: map[model.ObjectRef]entry{}, read: k.Reading == kind.OnDemand}
	}
	return d
}

// work takes events and puts what follows into the graph, in one batch. It returns when there is work again without an
// event; zero: never.
func (d *desk) work(events []event, now time.Time) time.Time {
	d.now = now
	for _, e := range events {
		d.take(e)
	}
	d.settle()
	d.apply()
	return d.next()
}

func (d *desk) take(e event) {
	s := d.kinds[e.kind]
	if first := d.catalog.Of(e.kind).After; first != model.KindNone && !d.kinds[first].read {
		s.waiting.add(e)
		return
	}
	switch e.what {
	case isSet:
		d.set(e.object)
	case isRemoved:
		d.remove(e.ref)
	case isReplaced:
		d.replace(e.kind, e.objects)
		d.wasRead(e.kind)
	case isUnreadable:
		d.wasRead(e.kind)
	case isAnswered:
		d.answer(e.ref, e.object, e.keys)
	case isFailed:
		d.unanswered(e.ref, e.err)
	}
}

// wasRead takes up what waited for a kind.
func (d *desk) wasRead(kind model.Kind) {
	if d.kinds[kind].read {
		return
	}
	d.kinds[kind].read = true
	for _, next := range d.catalog.All() {
		if next.After == kind {
			for _, e := range d.kinds[next.Kind].waiting.take() {
				d.take(e)
			}
		}
	}
}

// replace makes a kind's objects those of a list.
func (d *desk) replace(kind model.Kind, objects []*object) {
	there := make(map[model.ObjectRef]struct{}, len(objects))
	for _, o := range objects {
		there[o.ref] = struct{}{}
		d.set(o)
	}
	gone := map[model.ObjectRef]struct{}{}
	note := func(ref model.ObjectRef) {
		if _, is := there[ref]; !is && ref.Kind() == kind {
			gone[ref] = struct{}{}
		}
	}
	for ref := range d.kinds[kind].known {
		note(ref)
	}
	for ref := range d.held {
		note(ref)
	}
	for ref := range d.others.parked {
		note(ref)
	}
	for _, ref := range slices.SortedFunc(maps.Keys(gone), model.ObjectRef.Compare) {
		d.remove(ref)
	}
}

func (d *desk) known(ref model.ObjectRef) (entry, bool) {
	s := d.kinds[ref.Kind()]
	if s == nil {
		return entry{}, false
	}
	e, known := s.known[ref]
	return e, known
}

// set takes an object's new version. One that differs in nothing that is kept is none.
func (d *desk) set(o *object) {
	if grant, is := o.spec.(*gatewayv1.ReferenceGrantSpec); is {
		d.grant(o.ref, grant)
	}
	live, known := d.known(o.ref)
	h := d.held[o.ref]
	switch {
	case h != nil && h.object.print == o.print:
		return
	case known && live.print == o.print && !(live.trimmed && isRoute(o.ref.Kind()) && !o.mine):
		delete(d.fading, o.ref)
		d.unhold(o.ref)
		return
	}
	d.decide(o)
}

// decide finds out what is to become of a version.
func (d *desk) decide(o *object) {
	if o = d.claim(o); o == nil {
		return
	}
	live, _ := d.known(o.ref)
	d.want(o.ref, live.names(), o.index.names)
	h := d.held[o.ref]
	if h == nil {
		h = &held{}
	}
	h.object = o
	if d.waits(h) {
		d.held[o.ref] = h
		return
	}
	d.commit(o)
}

// waits says whether a version must wait: for the first answer about what is read for it, or for what it begins to
// name.
func (d *desk) waits(h *held) bool {
	h.blocked = slices.ContainsFunc(h.names(), func(r kind.Reference) bool { return d.unknown(r) }) ||
		h.object.ref.Kind() == model.KindReferenceGrant && d.grantWaits(h.object.ref)
	if h.blocked {
		return true
	}
	live, known := d.known(h.object.ref)
	if !known || !arrival.Loses(d, live.names(), h.object.index.names) {
		return false
	}
	if h.until.IsZero() {
		h.until = d.now.Add(arrival.Hold)
	}
	return d.now.Before(h.until)
}

// Has implements arrival.Present.
func (d *desk) Has(r kind.Reference) bool {
	e, known := d.known(r.To)
	switch {
	case !known:
		return false
	case e.whole || e.trimmed:
		return true
	case d.catalog.Of(r.To.Kind()).Sliced != nil && d.backed[r.To] == 0:
		return false // its endpoints are on their way: they are objects of their own
	}
	return e.index != nil && r.Finds(e.index.parts)
}

// commit puts a version into the graph.
func (d *desk) commit(o *object) {
	delete(d.held, o.ref)
	delete(d.fading, o.ref)
	live, known := d.known(o.ref)
	now := entry{print: o.print, whole: o.whole, trimmed: o.trimmed}
	if i := o.index; len(i.names)+len(i.parts) > 0 || i.backs != (model.ObjectRef{}) {
		now.index = &i
	}
	d.kinds[o.ref.Kind()].known[o.ref] = now
	d.back(live, -1)
	d.back(now, +1)
	d.want(o.ref, now.names())
	d.edits = append(d.edits, edit{ref: o.ref, object: o})
	d.regard(o, live, known)
}

// remove takes an object that is gone.
func (d *desk) remove(ref model.ObjectRef) {
	if ref.Kind() == model.KindReferenceGrant {
		d.grant(ref, nil)
	}
	delete(d.others.parked, ref)
	d.unhold(ref)
	if _, known := d.known(ref); !known {
		return
	}
	if !d.catalog.Of(ref.Kind()).Lingers || !d.synced {
		d.drop(ref)
		return
	}
	if _, fades := d.fading[ref]; !fades {
		d.fading[ref] = d.now.Add(arrival.Hold)
	}
}

// unhold forgets a version that waits.
func (d *desk) unhold(ref model.ObjectRef) {
	if _, is := d.held[ref]; is {
		delete(d.held, ref)
		live, _ := d.known(ref)
		d.want(ref, live.names())
	}
}

// drop takes an object out of the graph.
func (d *desk) drop(ref model.ObjectRef) {
	live, known := d.known(ref)
	if !known {
		return
	}
	delete(d.fading, ref)
	delete(d.kinds[ref.Kind()].known, ref)
	d.back(live, -1)
	d.want(ref)
	d.edits = append(d.edits, edit{ref: ref})
	if ref.Kind() == model.KindGatewayClass {
		d.declare(ref.Name(), false, false)
	}
}

// back counts the slices of a backend.
func (d *desk) back(e entry, n int) {
	if e.index == nil || e.index.backs == (model.ObjectRef{}) {
		return
	}
	if d.backed[e.index.backs] += n; d.backed[e.index.backs] == 0 {
		delete(d.backed, e.index.backs)
	}
}

// settle goes on with what has waited long enough, and with what waited for that.
func (d *desk) settle() {
	for _, ref := range slices.SortedFunc(maps.Keys(d.fading), model.ObjectRef.Compare) {
		if !d.now.Before(d.fading[ref]) {
			d.drop(ref)
		}
	}
	d.expire()
	for changed := true; changed; {
		changed = false
		for _, ref := range d.unblocked() {
			if h := d.held[ref]; h != nil && !d.waits(h) {
				d.commit(h.object)
				changed = true
			}
		}
	}
}

// unblocked lists the versions that wait for what they name to arrive, or for nothing any more.
func (d *desk) unblocked() []model.ObjectRef {
	var list []model.ObjectRef
	for ref, h := range d.held {
		if !h.blocked {
			list = append(list, ref)
		}
	}
	slices.SortFunc(list, d.catalog.ByNaming)
	return list
}

// apply gives the graph what was decided.
func (d *desk) apply() {
	edits := d.edits
	d.edits = nil
	begin := !d.synced && len(d.held) == 0
	for _, s := range d.kinds {
		begin = begin && s.read
	}
	if begin || len(edits) > 0 {
		d.graph.Apply("kube", func(b *flow.Batch) {
			for _, e := range edits {
				d.write(b, e)
			}
			if begin {
				d.sources.Synced(b)
			}
		})
		d.synced = d.synced || begin
	}
	for kind := range d.relist {
		delete(d.relist, kind)
		d.again(kind)
	}
}

func (d *desk) write(b *flow.Batch, e edit) {
	switch source := d.sources.Of(e.ref.Kind()); {
	case e.unread && e.why != "":
		d.sources.Unread.Set(b, e.ref, e.why)
	case e.unread:
		d.sources.Unread.Delete(b, e.ref)
	case e.object != nil:
		source.Set(b, e.ref, e.object.meta, e.object.spec)
	default:
		source.Delete(b, e.ref)
	}
}

// next is when something has waited long enough.
func (d *desk) next() (at time.Time) {
	consider := func(t time.Time) {
		if t.After(d.now) && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	for _, t := range d.fading {
		consider(t)
	}
	for _, h := range d.held {
		consider(h.until)
	}
	for _, w := range d.wanted.asked {
		if w.waiting() {
			consider(w.deadline)
			break
		}
	}
	return at
}

func (e entry) names() []kind.Reference {
	if e.index == nil {
		return nil
	}
	return e.index.names
}
