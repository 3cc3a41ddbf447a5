package kube

import (
	"maps"
	"slices"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/source/lifecycle"
)

// intake decides what goes into the graph, and when. One goroutine uses it.
//
//	set ──> whose is it? ──> package lifecycle: may it be published, or must it wait? ──> graph
//	             └──> parked
type intake struct {
	graph   *flow.Graph
	sources *input.Sources
	catalog *kind.Catalog
	ask     func(model.ObjectRef, kind.Keys) (stop func()) // begins to read one object
	again   func(model.Kind)                               // lists a kind again
	now     time.Time                                      // of this round of work

	life   *lifecycle.Objects[version]
	read   map[model.Kind]bool     // kinds that were listed, or can't be
	backed map[model.ObjectRef]int // EndpointSlices with endpoints, by backend
	others others
	wanted wanted
	grants grants
	synced bool

	edits  []edit
	relist map[model.Kind]struct{}
}

// edit is one for the graph: an object's new version, or nil; or why it can't be read.
type edit struct {
	ref    model.ObjectRef
	object *object
	unread bool
	why    string // of unread; "" if it can be read now
}

func newIntake(graph *flow.Graph, sources *input.Sources) *intake {
	d := &intake{
		graph: graph, sources: sources, catalog: sources.Catalog,
		read: map[model.Kind]bool{}, backed: map[model.ObjectRef]int{}, relist: map[model.Kind]struct{}{},
		others: others{classes: map[string]bool{}, parked: map[model.ObjectRef][]kind.Reference{}},
		grants: grants{},
		wanted: wanted{
			objects: map[model.ObjectRef]*demand{}, by: map[model.ObjectRef][]model.ObjectRef{},
			refused: map[string]map[model.ObjectRef]struct{}{}, refusedIn: map[model.ObjectRef][]string{},
		},
	}
	for _, k := range d.catalog.All() {
		d.read[k.Kind] = k.Reading == kind.OnDemand
	}
	d.life = lifecycle.New(d, d.catalog.ByNaming)
	return d
}

// work takes events and puts what follows into the graph, in one batch. It returns when there is work again without an
// event; zero: never.
func (d *intake) work(events []event, now time.Time) time.Time {
	d.now = now
	for _, e := range events {
		d.take(e)
	}
	d.expire()
	d.life.Settle(d.now, d.publish, d.drop)
	d.apply()
	return d.next()
}

func (d *intake) take(e event) {
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
		d.failed(e.ref, e.err)
	}
}

// wasRead judges what waited for a kind.
func (d *intake) wasRead(kind model.Kind) {
	if d.read[kind] {
		return
	}
	d.read[kind] = true
	for _, ref := range d.life.AllWaiting() {
		if v, waits := d.life.Waiting(ref); waits && d.judges(ref.Kind()) {
			d.decide(v.object)
		}
	}
}

// judges says whether all was read that must be before objects of a kind can be judged.
func (d *intake) judges(kind model.Kind) bool {
	first := d.catalog.Of(kind).After
	return first == model.KindNone || d.read[first] && d.judges(first)
}

// replace makes a kind's objects those of a list.
func (d *intake) replace(kind model.Kind, objects []*object) {
	there := make(map[model.ObjectRef]struct{}, len(objects))
	for _, o := range objects {
		there[o.ref] = struct{}{}
		d.set(o)
	}
	gone := slices.Concat(slices.Collect(maps.Keys(d.life.AllKnown(kind))), d.life.AllWaiting(),
		slices.Collect(maps.Keys(d.others.parked)))
	gone = slices.DeleteFunc(gone, func(ref model.ObjectRef) bool {
		_, is := there[ref]
		return is || ref.Kind() != kind
	})
	slices.SortFunc(gone, model.ObjectRef.Compare)
	for _, ref := range slices.Compact(gone) {
		d.remove(ref)
	}
}

// set takes an object's new version. One that differs in nothing that is kept is none.
func (d *intake) set(o *object) {
	if grant, is := o.spec.(*gatewayv1.ReferenceGrantSpec); is {
		d.grant(o.ref, grant)
	}
	live, known := d.life.Known(o.ref)
	next, waits := d.life.Waiting(o.ref)
	switch {
	case waits && next.print == o.print:
	case known && live.print == o.print && !(live.index.trimmed && d.catalog.Of(o.ref.Kind()).Route && !o.mine):
		d.takeBack(o.ref)
		d.life.Confirm(o.ref)
	default:
		d.decide(o)
	}
}

// decide finds out what is to become of a version.
func (d *intake) decide(o *object) {
	if d.judges(o.ref.Kind()) {
		if o = d.claim(o); o == nil {
			return
		}
		live, _ := d.life.Known(o.ref)
		d.want(o.ref, live.names(), o.index.names)
	}
	v := version{o.print, o.index, o}
	if d.life.Arrive(o.ref, v, d.now) {
		d.publish(o.ref, v)
	}
}

// Names implements lifecycle.Source.
func (d *intake) Names(v version) []kind.Reference { return v.names() }

// Unanswered implements lifecycle.Source: the object can't be judged yet, or the first answer is still to come about
// what is read for it.
func (d *intake) Unanswered(ref model.ObjectRef, v version) bool {
	return !d.judges(ref.Kind()) || slices.ContainsFunc(v.names(), d.unknown) ||
		ref.Kind() == model.KindReferenceGrant && d.grantWaits(ref)
}

// Finds implements lifecycle.Source.
func (d *intake) Finds(r kind.Reference, v version) bool {
	switch {
	case v.index.whole:
		return true
	case d.catalog.Of(r.To.Kind()).Sliced != nil && d.backed[r.To] == 0:
		return false // its endpoints are on their way: they are objects of their own
	}
	return r.Finds(v.index.parts)
}

// publish puts a version into the graph.
func (d *intake) publish(ref model.ObjectRef, v version) {
	o := v.object
	v.object = nil
	live, known := d.life.Publish(ref, v)
	d.back(live, -1)
	d.back(v, +1)
	d.want(ref, v.names())
	d.edits = append(d.edits, edit{ref: ref, object: o})
	d.regard(o, live, known)
}

// remove takes an object that is gone.
func (d *intake) remove(ref model.ObjectRef) {
	if ref.Kind() == model.KindReferenceGrant {
		d.grant(ref, nil)
	}
	delete(d.others.parked, ref)
	if !d.catalog.Of(ref.Kind()).Fades || !d.synced {
		d.drop(ref)
		return
	}
	d.takeBack(ref)
	d.life.Fade(ref, d.now.Add(lifecycle.Hold))
}

// takeBack ends what is read for a version that waits, and not for the one that is in the graph.
func (d *intake) takeBack(ref model.ObjectRef) {
	if _, waits := d.life.Waiting(ref); waits {
		live, _ := d.life.Known(ref)
		d.want(ref, live.names())
	}
}

// drop takes an object out of the graph.
func (d *intake) drop(ref model.ObjectRef) {
	live, known := d.life.Remove(ref)
	d.want(ref)
	if !known {
		return
	}
	d.back(live, -1)
	d.edits = append(d.edits, edit{ref: ref})
	if ref.Kind() == model.KindGatewayClass {
		d.declare(ref.Name(), false, false)
	}
}

// back counts the slices of a backend.
func (d *intake) back(v version, n int) {
	if v.index == nil || v.index.backs == (model.ObjectRef{}) {
		return
	}
	if d.backed[v.index.backs] += n; d.backed[v.index.backs] == 0 {
		delete(d.backed, v.index.backs)
	}
}

// apply gives the graph what was decided.
func (d *intake) apply() {
	edits := d.edits
	d.edits = nil
	begin := !d.synced && d.life.Count(lifecycle.Held)+d.life.Count(lifecycle.Unanswered) == 0
	for _, read := range d.read {
		begin = begin && read
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

func (d *intake) write(b *flow.Batch, e edit) {
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
func (d *intake) next() time.Time {
	at := d.life.Next()
	i := slices.IndexFunc(d.wanted.asked, (*demand).waiting)
	if i >= 0 && (at.IsZero() || d.wanted.asked[i].deadline.Before(at)) {
		at = d.wanted.asked[i].deadline
	}
	return at
}
